// What the page says of its gateway: the addresses, the examples, and how a viewer is named.
export const settings = JSON.parse(document.getElementById("settings").textContent);
