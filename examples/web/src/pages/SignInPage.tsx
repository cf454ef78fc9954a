import { useState, type FormEvent } from "react";
import { pictureOf } from "../config";
import { SAMPLE_USERS } from "../session/sampleUsers";
import { signIn, type Session } from "../session/session";
import { Avatar } from "../ui/Avatar";
import "./sign-in.css";

/** Choose who to be. A real product asks for a password here. */
export function SignInPage({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [other, setOther] = useState("");
  const [problem, setProblem] = useState("");

  async function enter(userId: string) {
    try {
      onSignedIn(await signIn(userId));
    } catch (error) {
      setProblem((error as Error).message);
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    void enter(other.trim());
  }

  return (
    <main className="sign-in">
      <h1>
        <img src="/icon.svg" alt="" width="40" height="40" /> Kindred
      </h1>
      <p>A small social app on Kith. Who would you like to be?</p>
      <ul>
        {SAMPLE_USERS.map(({ id, about }) => (
          <li key={id}>
            <button type="button" className="sign-in-user" onClick={() => void enter(id)}>
              <Avatar src={pictureOf(id)} />
              <span>
                <strong>User {id}</strong>
                <small>{about}</small>
              </span>
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={submit}>
        <label htmlFor="other">Somebody else, by id (1 to 420)</label>
        <div className="sign-in-other">
          <input
            id="other"
            inputMode="numeric"
            value={other}
            aria-describedby="problem"
            onChange={(event) => setOther(event.target.value)}
          />
          <button type="submit" className="button button-primary">
            Sign in
          </button>
        </div>
      </form>
      <p id="problem" role="alert" className="problem">
        {problem}
      </p>
      <p className="hint">
        Open a second window and be somebody else there: each window has a session of its own, and sees at once what
        the other one does.
      </p>
    </main>
  );
}
