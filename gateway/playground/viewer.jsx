// The viewer switcher: who asks.
import {
  Combobox,
  ComboboxButton,
  ComboboxInput,
  ComboboxOption,
  ComboboxOptions,
  Field,
  Label,
} from "@headlessui/react";
import { useState } from "react";
import { NOBODY, SERVICE, choose, identity, isDevelopment, user } from "./identity.js";
import { useObservable } from "./observable.js";
import { settings } from "./settings.js";

const USERS = (settings.viewers ?? []).map(({ id, about }) => ({ choice: user(id), about }));
const OTHERS = [
  { choice: NOBODY, about: "sends no credentials" },
  ...(settings.serviceToken ? [{ choice: SERVICE, about: "a trusted back end, for no viewer" }] : []),
];
const NAMES = { nobody: "Nobody", service: "A service" };

const nameOf = ({ kind, id }) => (kind === "user" ? `User ${id}` : NAMES[kind]);
const isSame = (one, other) => one?.kind === other?.kind && one?.id === other?.id;
const describe = (choice) => {
  const about = [...USERS, ...OTHERS].find((option) => isSame(option.choice, choice))?.about;
  return about ? `${nameOf(choice)}: ${about}` : nameOf(choice);
};

function optionsFor(text) {
  const wanted = text.trim().toLowerCase().replace(/^user\s+/, "");
  const begins = ({ choice }) =>
    Boolean(choice.id?.startsWith(wanted) || nameOf(choice).toLowerCase().startsWith(wanted));
  const found = [...USERS, ...OTHERS]
    .filter(({ choice }) => describe(choice).toLowerCase().includes(wanted))
    .toSorted((one, other) => begins(other) - begins(one));
  const isId = /^[1-9][0-9]{0,18}$/.test(wanted);
  const isListed = USERS.some(({ choice }) => choice.id === wanted);
  return isId && !isListed ? [{ choice: user(wanted), about: "any id" }, ...found] : found;
}

export function ViewerSwitcher() {
  return isDevelopment ? <ViewerField /> : <TokenField />;
}

function ViewerField() {
  const choice = useObservable(identity);
  const [text, setText] = useState("");
  return (
    <Field className="viewer">
      <Label className="viewer-label">Ask as</Label>
      <Combobox
        value={choice}
        by={isSame}
        immediate
        onChange={(next) => next && choose(next)}
        onClose={() => setText("")}
      >
        <div className="viewer-box">
          <ComboboxInput
            className="viewer-input"
            displayValue={describe}
            title={describe(choice)}
            onChange={(event) => setText(event.target.value)}
            onFocus={(event) => event.target.select()}
            autoComplete="off"
            spellCheck={false}
          />
          <ComboboxButton className="viewer-button" aria-label="Show users to ask as">
            <svg width="12" height="8" viewBox="0 0 12 8" aria-hidden="true">
              <path d="M1 1.5 6 6.5l5-5" fill="none" stroke="currentColor" strokeWidth="1.5" />
            </svg>
          </ComboboxButton>
          <ComboboxOptions className="viewer-options" modal={false}>
            {optionsFor(text).map(({ choice: option, about }) => (
              <ComboboxOption key={nameOf(option)} value={option} className="viewer-option">
                <strong>{nameOf(option)}</strong> <span>{about}</span>
              </ComboboxOption>
            ))}
            <p className="viewer-hint">Type any user id. The list is of the sample graph.</p>
          </ComboboxOptions>
        </div>
      </Combobox>
    </Field>
  );
}

function TokenField() {
  const { token } = useObservable(identity);
  const [text, setText] = useState(token);
  const use = (event) => {
    event.preventDefault();
    const bare = text.trim().replace(/^bearer\s+/i, "");
    if (bare !== identity.get().token) choose({ kind: "token", token: bare });
  };
  return (
    <form className="viewer" onSubmit={use}>
      <label className="viewer-label" htmlFor="viewer-token">
        Bearer token
      </label>
      <div className="viewer-box">
        <input
          id="viewer-token"
          className="viewer-input"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={use}
          placeholder="Paste a token; without one you are anonymous"
          title="Sent as Authorization: Bearer. It is kept until this browser tab is closed."
          autoComplete="off"
          spellCheck={false}
        />
      </div>
    </form>
  );
}
