// Server-sent events in the form that GraphiQL expects: an async iterable of responses, which ends when it is stopped.

async function* answers(open, signal) {
  const response = await open(signal);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    yield await response.json();
    return;
  }
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (text + chunk).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const [name, data] = event.split("\ndata: ");
      if (name === "event: next") yield JSON.parse(data);
    }
  }
}

// `open` sends the request, which ends with the signal that it is given.
export function listen(open) {
  const stop = new AbortController();
  const results = answers(open, stop.signal);
  const done = { done: true, value: undefined };
  const stopped = new Promise((resolve) => {
    stop.signal.addEventListener("abort", () => resolve(done));
  });
  const result = () =>
    results.next().catch((error) => {
      if (stop.signal.aborted) return done;
      throw error;
    });
  // A generator that is stopped first waits for its pending promise, perhaps for ever. A stop must not.
  const next = () => Promise.race([stopped, result()]);
  const end = async () => {
    stop.abort();
    return done;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
