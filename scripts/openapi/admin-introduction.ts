/** Introduction to the admin API's OpenAPI document, in Markdown. */
export const adminIntroduction = `
Manages accounts, keys, bans, usage, the audit log and the store. The admin API has a separate listener (\`ADMIN_HOST\`,
\`ADMIN_PORT\`) and is not available on the port of the public API.

## Signing in

Programs send an operator's token with each request: \`Authorization: Bearer TOKEN\`. To create a token, run
\`animal-store operators create\`. The console exchanges a token, or the one-time code of a console link, for a session: a
cookie, and a secret that every request sends as \`X-Session-Secret\`. Browsers send a cookie to every port of a host, so the
cookie alone is not sufficient. A session ends after 12 hours, after an hour without a request, when the operator signs
out, and when the operator's token is replaced or revoked.

A viewer has read-only access. An admin can also make changes. Each operation lists the required role. The audit log
records every change.

## Requests

Requests are checked in this order, and the first failed check determines the response: host (421), authentication (401,
429), origin of a browser's request (403 \`cross_site_request\`), path (404), method (405), role (403
\`role_insufficient\`), media type (415), size (413), body and parameters (400), existence of the resource (404),
preconditions (412), state of the resource (409, 422).

A \`POST\` that changes data accepts an \`Idempotency-Key\` of at least 32 characters, such as a UUID. If you receive no
response, repeat the request with the same \`Idempotency-Key\`: the change is applied only once, and the response
contains the issued key or token.

Unknown parameters and members are rejected. 64-bit integers are exact: use a JSON parser that does not round them.

## Errors

Every error response has the body \`Error\` with a \`code\`. New codes may be added: handle an unknown code by its status.

## Stability

The entire admin API is in beta and may still change.
`.trim();
