/**
 * A chunked body that turns out malformed. The runtime answers the malformed chunk itself, 400 without a body, also
 * behind an answer of ours; a proxy would take that for the answer to somebody's next request.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { startTestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { type RawResponse, responsesOf } from '../support/raw.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const json = 'Content-Type: application/json\r\n';
const authorization = `Authorization: Bearer ${app.key}\r\n`;

function head(line: string, headers = ''): string {
  return `${line} HTTP/1.1\r\nHost: animals.example\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`;
}

const heads = [
  ['no key', head('POST /v1/pets', json)],
  ['no route', head('POST /v1/elsewhere', authorization)],
  ['no method of the path', head('PUT /v1/pets', authorization)],
  ['no media type that is taken', head('POST /v1/pets', `${authorization}Content-Type: text/plain\r\n`)],
  ['nothing wrong', head('POST /v1/pets', authorization + json)],
  ['no need of a body', head('GET /v1/pets', authorization)],
  ['no page', head('POST /nowhere')],
  ['no method of a page', head('POST /docs')],
  ['a page, and no need of a body', head('GET /livez')],
] as const;

const next = `GET /v1/pets/0 HTTP/1.1\r\nHost: animals.example\r\n${authorization}Connection: close\r\n\r\n`;

/** Sends the pieces, each when the service has read the one before, and returns what comes until it closes. */
async function inSteps(...pieces: string[]): Promise<RawResponse[]> {
  const { hostname, port } = new URL(app.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  // What is sent behind the end of a connection is reset.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').catch(() => undefined);
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    // The service takes what comes in its order: when it has answered this, it has read the piece.
    await fetch(`${app.url}/livez`);
  }
  await closed;
  return responsesOf(received);
}

describe.each(heads)('a request with %s and a malformed chunk gets one answer', (_, sent) => {
  test('with the head, or behind a good chunk', async () => {
    for (const good of ['', '2\r\n{}\r\n']) {
      expect((await inSteps(`${sent}${good}zz\r\n${next}`)).map(({ status }) => status)).toEqual([400]);
    }
  });

  test('after the head, and after a good chunk', async () => {
    for (const good of ['', '2\r\n{}\r\n']) {
      expect((await inSteps(sent + good, `zz\r\n${next}`)).length).toBe(1);
    }
  });
});

test('a body too large gets one answer, also when a malformed chunk is behind the bound', async () => {
  const sent = head('POST /v1/pets', authorization + json);
  const large = `5000\r\n${' '.repeat(0x5000)}\r\n`;
  expect((await inSteps(sent + large, `zz\r\n${next}`)).length).toBe(1);
  expect((await inSteps(sent, large, large, `zz\r\n${next}`)).length).toBe(1);
});

test('a refused request whose chunks are good leaves the connection to the next one', async () => {
  for (const [, sent] of heads.filter(([, line]) => !line.startsWith('GET'))) {
    const answers = await inSteps(sent, '2\r\n{}\r\n', `0\r\n\r\n${next}`);
    expect(answers.length).toBe(2);
    expect([answers[0]?.headers.get('connection'), answers[1]?.status]).toEqual([undefined, 404]);
  }
});

test('a request that needs no body and has one in chunks is answered, and its connection closed', async () => {
  const answers = await inSteps(`${head('GET /v1/pets', authorization)}2\r\n{}\r\n0\r\n\r\n`);
  expect(answers.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([[200, 'close']]);
});

test('clients that send megabytes in chunks without a key all see their answer', async () => {
  const megabytes = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let sent = 0; sent < 20; sent++) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
  const statuses = await Promise.all(
    Array.from({ length: 5 }, () =>
      fetch(`${app.url}/v1/pets`, { method: 'POST', body: megabytes() }).then(({ status }) => status),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect((await app.call('POST', '/pets', { body: newPet() })).status).toBe(201);
});
