// Options of the editors that GraphiQL has no property for.
import { useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

const OPTIONS = { fontSize: 13, lineHeight: 19, wordWrap: "on" };

export function EditorOptions() {
  const editors = useGraphiQL(({ queryEditor, variableEditor, headerEditor, responseEditor }) => [
    queryEditor,
    variableEditor,
    headerEditor,
    responseEditor,
  ]);
  useEffect(() => editors.forEach((editor) => editor?.updateOptions(OPTIONS)));
  return null;
}
