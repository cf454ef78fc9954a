// The width below which playground.css puts one thing below the other.
export const isNarrow = () => matchMedia("(max-width: 800px)").matches;
