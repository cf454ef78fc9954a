// Server-sent events as GraphiQL takes them: an iterable of answers, which ends when it is stopped.

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
  const told = answers(open, stop.signal);
  const next = () =>
    told.next().catch((error) => {
      if (stop.signal.aborted) return { done: true, value: undefined };
      throw error;
    });
  // A generator waits for what it awaits before it returns: that may be for ever.
  const end = async () => {
    stop.abort();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
