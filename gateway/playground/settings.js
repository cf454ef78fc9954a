// The settings in the page: the gateway's addresses, the examples, and the header that names a viewer.
export const settings = JSON.parse(document.getElementById("settings").textContent);
