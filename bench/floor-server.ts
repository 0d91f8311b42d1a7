/**
 * A minimal Bun server that reads and writes as much data as the service. Sends recorded responses, with as many
 * varying headers as the service. Does not check keys or count requests, and has no store.
 */
import type { RecordedAnswer } from './limits.ts';

const [port, path = ''] = process.argv.slice(2);
const answers = (await Bun.file(path).json()) as RecordedAnswer[];

const readHeaders = ['authorization', 'x-request-id', 'host', 'if-none-match'];

let count = 0;

/** Headers whose values vary. A header is sent only if the recorded response has it. */
const changing: Readonly<Record<string, () => string>> = {
  'x-request-id': () => `Zk3vQ9xLw2Bd-${count}`,
  'x-ratelimit-remaining': () => String(count % 1_000),
  ratelimit: () =>
    `"minute";r=${count % 1_000};t=${count % 60}, "day";r=${count % 100_000};t=${count % 86_400}`,
};

function responder({ status, headers: recorded, body }: RecordedAnswer) {
  const headers = new Headers(recorded);
  const changed = Object.entries(changing).filter(([name]) => headers.has(name));
  const page = new Blob([body]);
  return (request: Bun.BunRequest<string>) => {
    count++;
    const isRead = request.url !== '' && request.params !== undefined;
    for (const name of readHeaders) if (request.headers.get(name) === '') throw new Error(`No ${name}`);
    for (const [name, value] of changed) headers.set(name, value());
    return new Response(isRead ? page : null, { status, headers });
  };
}

const routes = Object.fromEntries(
  answers.flatMap((answer) => {
    const respond = responder(answer);
    return [
      [answer.path, respond],
      [`${answer.path}/:id`, respond],
    ];
  }),
);

Bun.serve({ hostname: '127.0.0.1', port: Number(port), routes });
