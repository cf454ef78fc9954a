import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import globals from "globals";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist*", "src/gql"] },
  js.configs.recommended,
  ...typescript.configs.strict,
  a11y.flatConfigs.recommended,
  hooks.configs.flat.recommended,
  { rules: { "jsx-a11y/label-has-associated-control": ["error", { depth: 3 }] } },
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
);
