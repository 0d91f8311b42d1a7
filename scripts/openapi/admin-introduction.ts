/** Introduction of the admin API's OpenAPI document, in Markdown. */
export const adminIntroduction = `
Accounts, keys, bans, usage, the audit log and the store itself, for those who run the service. It has a listener of its
own (\`ADMIN_HOST\`, \`ADMIN_PORT\`); the port that clients use knows nothing of it.

## Signing in

Programs send an operator's token with each request: \`Authorization: Bearer TOKEN\`. \`animal-store operators create\` makes
one. The console trades a token, or the one-time code of a console link, for a session: a cookie and a secret, which every
request sends as \`X-Session-Secret\`. Browsers send a cookie to every port of a host, so it is worth nothing alone. A session ends after 12 hours,
after an hour without a request, when it is signed out of, and when the operator's token is replaced or revoked.

A viewer has read-only access. An admin can also make changes. Each operation names its role, and every change is recorded in the audit log.

## Requests

Requests are checked in this order, and the first failed check determines the response: the host (421), who it is (401, 429),
where a browser's request comes from (403 \`cross_site_request\`), path (404), method (405), role (403
\`role_insufficient\`), media type (415), size (413), body and parameters (400), the resource (404), its preconditions (412),
its state (409, 422).

A \`POST\` that changes something takes an \`Idempotency-Key\` of at least 32 characters, such as a UUID. If no response arrives,
repeat the request with the same one: no change is made twice, and the response contains the issued key or token.

Unknown parameters and members are rejected. 64-bit integers are exact: use a JSON parser that does not round them.

## Errors

Every error has the body \`Error\` with a \`code\`. New codes may be added: handle an unknown code by its status.

## Stability

All of it is beta, which may still change.
`.trim();
