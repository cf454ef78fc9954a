// @ts-check
/** Invented people: the same id always gets the same name, bio and colours. */

const FIRST_NAMES = [
  "Ada", "Bela", "Caro", "Dario", "Elif", "Femi", "Gita", "Hugo", "Ines", "Jonas", "Kaya", "Lior",
  "Mira", "Noor", "Odin", "Pia", "Quinn", "Rosa", "Sami", "Tove", "Uma", "Vito", "Wren", "Yara",
  "Zeno", "Amal", "Bruno", "Cleo", "Dina", "Emil", "Freya", "Goran", "Hana", "Ivo", "Juno",
];
const LAST_NAMES = [
  "Holm", "Okoro", "Varga", "Lindqvist", "Moreau", "Tanaka", "Silva", "Novak", "Bauer", "Costa",
  "Demir", "Eklund", "Farah", "Gallo", "Haddad", "Ilves", "Jensen", "Kowal", "Laurent", "Mbeki",
  "Nair", "Ortega", "Pavlov", "Rossi", "Sato", "Thorne", "Ueda", "Vidal", "Weiss", "Yilmaz", "Zander",
];
const DOES = [
  "Bakes bread before sunrise", "Restores old bicycles", "Photographs harbours", "Writes short letters",
  "Draws maps of places that do not exist", "Plays the cello, badly", "Grows tomatoes on a balcony",
  "Collects field recordings", "Runs a very small cinema", "Swims in cold lakes", "Repairs radios",
  "Teaches chess to beginners", "Makes kites", "Keeps bees on a roof", "Reads timetables for fun",
];
const PLACES = [
  "Lisbon", "Tallinn", "Accra", "Kyoto", "Bergen", "Montréal", "Trieste", "Izmir", "Leipzig", "Porto",
  "Valparaíso", "Galway", "Utrecht", "Hobart",
];
const HUES = [4, 24, 42, 88, 150, 172, 196, 214, 236, 262, 288, 324];

/** The ids of the sample graph, which `kith dev` loads. */
const SAMPLE_USERS = 420;

/** @param {string} id @param {number} salt A different draw for each use of one id. */
function draw(id, salt) {
  let hash = (2166136261 ^ salt) >>> 0;
  for (const character of id) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 16777619) >>> 0;
  }
  // FNV leaves neighbouring ids close to one another; this spreads them.
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** @template T @param {readonly T[]} from @param {string} id @param {number} salt */
const pick = (from, id, salt) => /** @type {T} */ (from[draw(id, salt) % from.length]);

/** @param {string} id */
export function person(id) {
  const first = pick(FIRST_NAMES, id, 1);
  return {
    id,
    displayName: `${first} ${pick(LAST_NAMES, id, 2)}`,
    handle: `${first.toLowerCase()}${id}`,
    bio: `${pick(DOES, id, 3)}. Lives in ${pick(PLACES, id, 4)}.`,
  };
}

/** @param {string} text @param {number} first */
export function peopleNamed(text, first) {
  const wanted = text.trim().toLowerCase();
  const found = [];
  for (let id = 1; id <= SAMPLE_USERS && found.length < first; id += 1) {
    const one = person(String(id));
    if (wanted && `${one.displayName} ${one.handle}`.toLowerCase().includes(wanted)) found.push(one);
  }
  return found;
}

/** A face in two colours. @param {string} id */
export function avatar(id) {
  const hue = pick(HUES, id, 5);
  const skin = `hsl(${pick(HUES, id, 6)} 65% 82%)`;
  const tilt = (draw(id, 7) % 25) - 12;
  const hair = 30 + (draw(id, 8) % 14);
  const smile = 4 + (draw(id, 9) % 6);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96">
<rect width="96" height="96" fill="hsl(${hue} 58% 62%)"/>
<circle cx="48" cy="104" r="38" fill="hsl(${(hue + 40) % 360} 50% 36%)"/>
<g transform="rotate(${tilt} 48 50)">
<circle cx="48" cy="${hair}" r="25" fill="hsl(${(hue + 200) % 360} 38% 26%)"/>
<circle cx="48" cy="50" r="22" fill="${skin}"/>
<circle cx="40" cy="48" r="2.6" fill="#222"/><circle cx="56" cy="48" r="2.6" fill="#222"/>
<path d="M40 58q8 ${smile} 16 0" fill="none" stroke="#222" stroke-width="2.4" stroke-linecap="round"/>
</g></svg>`;
}
