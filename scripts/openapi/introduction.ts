import { plans } from '../../src/domain/plan.ts';

const planRows = Object.entries(plans)
  .map(
    ([name, { perMinute, perDay }]) =>
      `| ${name[0]?.toUpperCase()}${name.slice(1)} | ${perMinute} | ${perDay} |`,
  )
  .join('\n');

/** What the OpenAPI document says about the interface as a whole, in Markdown. */
export const introduction = `
List the animals of a pet store, add one, fetch one. New here? Start with the [quickstart](docs/guides/quickstart).

## Authentication

Every request needs an API key: \`Authorization: Bearer YOUR_API_KEY\`. The operator of the service issues keys.

## Requests

A request is judged in this order, and answered at the first step it fails: API key (401), ban and limits (429), path
(404 \`route_not_found\`), method (405 \`method_not_allowed\`, with \`Allow\`), media type (415), size (413), body and
parameters (400). Everything under \`/v1\` is judged so, unknown paths too.

\`HEAD\` works wherever \`GET\` does. Unknown parameters and members are refused, so that a typo is not taken for a wish.
Integers of 64 bits are exact; read them with a parser that does not round them.

## Errors

Every error is an \`Error\` with a \`code\`. Treat a code you do not know by its status: new ones may be added. A 400 lists all
mistakes in \`details\`. Each code has [a page](docs/errors) with its cause and remedy, which the response links to (\`Link\`,
\`rel="help"\`).

## Limits

| Plan | Per minute | Per day |
|---|---|---|
${planRows}
| Enterprise | custom | custom |

Requests are counted per account, in both windows. A window opens with the first request after the previous one ended.
Every authenticated request costs one, whatever its answer; 401, 429 and 503 cost nothing. Every response carries
\`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` of the window with fewer requests remaining.

After a 429, wait for the seconds in \`Retry-After\`, then retry with exponential backoff. A request that is refused at
least one second after the first 429, and before its \`Retry-After\` has run out, is a strike. By default 100 strikes
within 10 minutes ban the key for 2 minutes, then for 4, 8 and so on up to 24 hours. A ban is not prolonged while it
lasts, and 24 hours without one start the count anew.

Failed authentications are counted against the caller's address, by default 600 per minute. Beyond that, invalid keys
from there get 429; valid keys keep working.

## Stability

What is not marked is stable. \`x-stability: beta\` marks what may still change. Within \`/v1\` changes to what is stable
are additive: ignore members and headers you do not know.
`.trim();
