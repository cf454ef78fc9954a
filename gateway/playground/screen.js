// The width below which playground.css stacks the parts of the page.
export const isNarrow = () => matchMedia("(max-width: 800px)").matches;
