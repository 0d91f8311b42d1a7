import { plans } from '../../src/domain/plan.ts';
import { defaultScopes, type Scope, scopes } from '../../src/domain/scope.ts';

const scopeList = (those: readonly Scope[]) => those.map((scope) => `\`${scope}\``).join(', ');

const planRows = Object.entries(plans)
  .map(
    ([name, { perMinute, perDay }]) =>
      `| ${name[0]?.toUpperCase()}${name.slice(1)} | ${perMinute} | ${perDay} |`,
  )
  .join('\n');

/** Introduction to the OpenAPI document, in Markdown. */
export const introduction = `
Manages the animals of a pet store, their categories, and orders. New here? Start with the [quickstart](docs/guides/quickstart).

## Authentication

Every request needs an API key: \`Authorization: Bearer YOUR_API_KEY\`. The operator of the service issues keys.

A key has scopes, and each operation lists the scope that it requires. The default scopes are ${scopeList(defaultScopes)}.
Other scopes are ${scopeList(scopes.filter((scope) => !defaultScopes.includes(scope)))}. If the key lacks the scope, the
response is 403 \`insufficient_scope\`, and \`WWW-Authenticate\` contains the required scope.

## Requests

Requests under \`/v1\` are checked in this order, and the first failed check determines the response: API key (401), ban
and limits (429), path (404 \`route_not_found\`), method (405 \`method_not_allowed\`, with \`Allow\`), scope (403), media
type (415), size (413), body and parameters (400), \`Idempotency-Key\` (409, 422), existence of the resource (404),
preconditions (412), state of the resource (409).

\`HEAD\` works wherever \`GET\` does. Unknown parameters and members are rejected. 64-bit integers are exact: use a JSON
parser that does not round them.

## Retries and concurrent changes

Every \`POST\` that changes data accepts an \`Idempotency-Key\`. A successful response is stored for 24 hours. Repeating the request with
the same key returns this response again, with \`Idempotent-Replayed: true\`, without making another change. Errors are
not stored.

Responses that contain a resource or a page have an \`ETag\`. With \`If-None-Match\`, a read returns 304 if nothing has
changed. With \`If-Match\`, a change fails with 412 if the resource has changed since you read it.

## Errors

Every error response has the body \`Error\` with a \`code\`. New codes may be added: handle an unknown code by its
status. A 400 lists all mistakes in \`details\`. Each code has [a page](docs/errors) with its cause and remedy, to which
the response links (\`Link\`, \`rel="help"\`).

## Limits

| Plan | Per minute | Per day |
|---|---|---|
${planRows}
| Enterprise | custom | custom |

Requests are counted per account, per minute and per day. A window starts with the first request after the previous window
ended. Every authenticated request counts, except those that get 429 or 503. Every response reports the most restrictive
window in \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

After a 429, wait for the number of seconds in \`Retry-After\`, then retry with exponential backoff. A request sent at least
one second after the first 429 and before its \`Retry-After\` has passed is a strike. By default, 100 strikes within
10 minutes ban the key for 2 minutes, and further bans last 4, 8, … minutes, up to 24 hours. Requests during a ban do not
extend it. After 24 hours without a ban, the next ban lasts 2 minutes again.

Failed authentications are limited per client address, by default to 600 per minute. After that, invalid keys from this
address get 429. Valid keys keep working.

## Stability

Everything is stable unless marked \`x-stability: beta\`; beta parts may still change. Changes to stable parts of
\`/v1\` are additive: ignore unknown members and headers.
`.trim();
