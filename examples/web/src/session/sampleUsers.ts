/** Users of the sample graph whose pages show many features. */
export const SAMPLE_USERS = [
  { id: "1", about: "Knows everybody: friends, requests, blocks, mutes" },
  { id: "2", about: "A star with many followers" },
  { id: "399", about: "New here: follows nobody yet" },
  { id: "404", about: "Exchanges messages with user 1" },
  { id: "416", about: "Protected: approves every follower" },
] as const;
