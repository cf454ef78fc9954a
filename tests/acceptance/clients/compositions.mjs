// Composes Kith's subgraph with each of the given others; prints the codes of the errors.
import { composeServices } from "@apollo/composition";
import { parse } from "graphql";
import { ask, given, print } from "./kith.mjs";

const LINK = `extend schema @link(
  url: "https://specs.apollo.dev/federation/v2.3",
  import: ["@key", "@shareable", "@external", "@requires"])`;

const { _service } = await ask(given.viewer, "{ _service { sdl } }");
const kith = { name: "kith", url: given.url, typeDefs: parse(_service.sdl) };
for (const sdl of given.others) {
  const other = { name: "other", url: "http://localhost/", typeDefs: parse(`${LINK} ${sdl}`) };
  const { errors = [] } = composeServices([kith, other]);
  print([...new Set(errors.map(({ extensions }) => extensions.code))]);
}
