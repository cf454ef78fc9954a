// A real OpenID Connect server. `rotate` on its standard input makes new signing keys, which it
// publishes beside the old ones; `withdraw` takes the old ones away.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const KINDS = {
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: () => generateKeyPairSync("ed25519"),
};

function newKeys() {
  return Object.entries(KINDS).map(([alg, make]) => ({
    ...make().privateKey.export({ format: "jwk" }),
    alg,
    use: "sig",
    kid: randomUUID(),
  }));
}

// The resource's name says with which algorithm its tokens are signed: https://kith.example/ES256.
const resourceIndicators = {
  enabled: true,
  defaultResource: () => "https://kith.example/RS256",
  useGrantedResource: () => true,
  getResourceServerInfo: (_, resource) => ({
    scope: "read service",
    audience: "https://kith.example",
    accessTokenTTL: 600,
    accessTokenFormat: "jwt",
    jwt: { sign: { alg: resource.split("/").at(-1) } },
  }),
};

function provider(keys) {
  return new Provider(issuer, {
    jwks: { keys },
    cookies: { keys: ["cookies of a test"] },
    clients: [
      {
        client_id: "back-end",
        client_secret: "secret of a test",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        scope: "service",
      },
      {
        client_id: "web",
        token_endpoint_auth_method: "none",
        redirect_uris: ["http://127.0.0.1/callback"],
        application_type: "native",
      },
    ],
    scopes: ["openid", "read", "service"],
    // Accounts are named by UUIDs, as at most providers; 42 is the user's id in Kith.
    extraTokenClaims: (_, token) =>
      token.accountId ? { "https://app.example/kith_user_id": "42" } : {},
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators,
    },
  });
}

let keys = newKeys();
let old = [];
let answer = provider(keys).callback();
const server = createServer((request, response) => answer(request, response));
server.listen(port, "127.0.0.1", () => console.log("ready"));

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "rotate") [old, keys] = [keys, newKeys()];
  if (line === "withdraw") old = [];
  answer = provider([...keys, ...old]).callback();
  console.log("done");
});
