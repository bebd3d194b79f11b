// Another issuer, as an organization would have one: `node issuer.mjs PORT CALLBACK`.
// Whoever says they are NAME is NAME@acme.example, verified unless the name begins with "un".
import Provider from "oidc-provider";

const [port, callback] = process.argv.slice(2);
const issuer = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "penstock", client_secret: "penstock-secret", redirect_uris: [callback] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  cookies: { keys: ["for tests alone"] },
  findAccount: async (_context, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id, name: `The ${id}`, email: `${id}@acme.example`, email_verified: !id.startsWith("un"),
    }),
  }),
});
issuer.listen(Number(port), "127.0.0.1", () => console.log("ready"));
