/** Sends recorded answers: the least a server on Bun can do. */
import type { RecordedAnswer } from './limits.ts';

const [port, path = ''] = process.argv.slice(2);
const answers = (await Bun.file(path).json()) as RecordedAnswer[];

const routes = Object.fromEntries(
  answers.flatMap(({ path, status, headers, body }) => {
    const answer = () => new Response(body, { status, headers });
    return [
      [path, answer],
      [`${path}/:id`, answer],
    ];
  }),
);

Bun.serve({ hostname: '127.0.0.1', port: Number(port), routes });
