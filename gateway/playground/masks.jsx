// The relation masks of the answer that is shown, as tables of ids and flags.
import { useGraphiQL } from "@graphiql/react";
import { formatResult } from "@graphiql/toolkit";
import { useMemo } from "react";
import { exchange } from "./ask.js";
import { masksIn } from "./masks.js";
import { useObservable } from "./observable.js";
import { settings } from "./settings.js";

const ROWS_MAX = 100;
const TABLES_MAX = 10;

export function RelationMasks() {
  const last = useObservable(exchange);
  const shown = useGraphiQL((state) => state.tabs[state.activeTabIndex]?.response);
  const masks = useMemo(() => {
    const isShown = last && shown && formatResult(last.answer) === shown;
    return isShown ? masksIn(last) : [];
  }, [last, shown]);
  const tables = masks.slice(0, TABLES_MAX).map((mask) => <MaskTable key={mask.path} {...mask} />);
  if (masks.length <= TABLES_MAX) return tables;
  return [...tables, <p key="more" className="mask">and {masks.length - TABLES_MAX} more masks</p>];
}

function MaskTable({ path, ids, relations }) {
  const rows = relations.slice(0, ROWS_MAX);
  return (
    <section className="mask" aria-label={`Decoded ${path}`}>
      <table>
        <caption>
          <code>{path}</code>, decoded
        </caption>
        <thead>
          <tr>
            <th scope="col">id</th>
            {settings.flags.map((flag) => (
              <th key={flag} scope="col">
                <span>{flag}</span>
              </th>
            ))}
            <th scope="col">number</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((relation, i) => (
            <tr key={i}>
              <th scope="row">{ids[i]}</th>
              {settings.flags.map((flag, bit) => (
                <td key={flag}>{(relation >> bit) & 1 ? <span role="img" aria-label="yes">●</span> : ""}</td>
              ))}
              <td className="mask-number">{relation}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {relations.length > ROWS_MAX && <p>and {relations.length - ROWS_MAX} more</p>}
    </section>
  );
}
