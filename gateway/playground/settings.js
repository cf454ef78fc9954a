// The settings in the page, which gateway/playground.py writes: paths, examples, the users to choose from, the
// service's token and the names of a mask's bits.
export const settings = JSON.parse(document.getElementById("settings").textContent);
