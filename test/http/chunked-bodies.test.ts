/**
 * Chunked requests. The runtime responds to a malformed chunk or a trailer with a bare 400, even after the service's
 * response. A proxy would assign that 400 to another client's request.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import {
  maxDroppedBytes,
  maxDroppedChunks,
  maxDroppedPerMinute,
  maxWaiting,
  UnreadBodies,
} from '../../src/http/listener/unread-body.ts';
import { maxChunks } from '../../src/http/pipeline/body.ts';
import { adminUrl } from '../support/admin.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { FakeClock } from '../support/clock.ts';
import { newPet } from '../support/pets.ts';
import { type RawResponse, responsesOf } from '../support/raw.ts';

const app = await startAppForFile();
// The number of bodies that are read is limited per minute.
beforeEach(() => app.clock.advance(60));

const json = 'Content-Type: application/json\r\n';
const authorization = `Authorization: Bearer ${app.key}\r\n`;

function head(line: string, headers = ''): string {
  return `${line} HTTP/1.1\r\nHost: animals.example\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`;
}

const heads = [
  ['without a key', head('POST /v1/pets', json)],
  ['to an unknown route', head('POST /v1/elsewhere', authorization)],
  ['with an unsupported method', head('PUT /v1/pets', authorization)],
  ['with an unsupported media type', head('POST /v1/pets', `${authorization}Content-Type: text/plain\r\n`)],
  ['without mistakes', head('POST /v1/pets', authorization + json)],
  ['that needs no body', head('GET /v1/pets', authorization)],
  ['to an unknown page', head('POST /nowhere')],
  ['to a page with an unsupported method', head('POST /docs')],
  ['to a page, which needs no body', head('GET /livez')],
] as const;

/** A create request without its last chunk. */
function newPetRequest(name: string) {
  const pet = newPet(name);
  const length = Buffer.byteLength(pet).toString(16);
  return { name, body: `${head('POST /v1/pets', authorization + json)}${length}\r\n${pet}\r\n` };
}

const next = `GET /v1/pets/0 HTTP/1.1\r\nHost: animals.example\r\n${authorization}Connection: close\r\n\r\n`;

/** Sends each piece after the service has read the previous one. Returns all responses until the connection closes. */
function inSteps(...pieces: string[]): Promise<RawResponse[]> {
  return inStepsTo(app.url, ...pieces);
}

async function inStepsTo(url: string, ...pieces: string[]): Promise<RawResponse[]> {
  return (await exchangeInSteps(url, pieces)).responses;
}

async function exchangeInSteps(url: string, pieces: readonly string[]) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  // Data sent after the connection has closed causes a reset.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').catch(() => undefined);
  let early = '';
  for (const piece of pieces) {
    early = received;
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    // The service reads in order, so this response proves that it has read the piece.
    await fetch(`${url}/livez`);
  }
  await closed;
  return { early, responses: responsesOf(received) };
}

describe.each(heads)('a malformed chunk in a request %s gets only one response', (_, sent) => {
  test('if it arrives with the head, even with a valid chunk before it', async () => {
    for (const good of ['', '2\r\n{}\r\n']) {
      expect((await inSteps(`${sent}${good}zz\r\n${next}`)).map(({ status }) => status)).toEqual([400]);
    }
  });

  test('if it arrives after the head, even with a valid chunk before it', async () => {
    for (const good of ['', '2\r\n{}\r\n']) {
      expect((await inSteps(sent + good, `zz\r\n${next}`)).length).toBe(1);
    }
  });
});

test('an oversized body gets one response, even with a malformed chunk beyond the limit', async () => {
  const sent = head('POST /v1/pets', authorization + json);
  const large = `5000\r\n${' '.repeat(0x5000)}\r\n`;
  expect((await inSteps(sent + large, `zz\r\n${next}`)).length).toBe(1);
  expect((await inSteps(sent, large, large, `zz\r\n${next}`)).length).toBe(1);
});

describe('a chunked body without bytes is treated like `Content-Length: 0`', () => {
  const text = 'Content-Type: text/plain\r\n';

  test.each([
    ['optional', 'POST /v1/orders/1/approve', '', 'order_not_found'],
    ['optional and of another media type', 'POST /v1/orders/1/approve', text, 'order_not_found'],
    ['required', 'POST /v1/pets', '', 'invalid_body'],
    ['required and of another media type', 'POST /v1/pets', text, 'unsupported_media_type'],
  ])('if it is %s', async (_, line, headers, code) => {
    const sent = head(line, authorization + headers);
    for (const pieces of [[`${sent}0\r\n\r\n`], [sent, '0\r\n\r\n']]) {
      const [response, ...more] = await inSteps(...pieces);
      expect([JSON.parse(response?.body ?? '').code, more]).toEqual([code, []]);
    }
  });
});

describe('a trailer', () => {
  const trailer = 'X-Checksum: 1\r\n\r\n';

  test.each(heads)('does not cause a second response to a request %s', async (_, sent) => {
    expect((await inSteps(`${sent}2\r\n{}\r\n0\r\n${trailer}`)).length).toBe(1);
    expect((await inSteps(`${sent}2\r\n{}\r\n0\r\n`, trailer)).length).toBe(1);
    expect((await inSteps(sent, `2\r\n{}\r\n0\r\n${trailer}`)).length).toBe(1);
  });

  test('in a create request causes a 400, and no animal is added', async () => {
    const { body } = newPetRequest('Trailer');
    expect((await inSteps(`${body}0\r\n${trailer}`)).map(({ status }) => status)).toEqual([400]);
    expect((await app.call('GET', '/pets?limit=100')).json).not.toContainEqual(
      expect.objectContaining({ name: 'Trailer' }),
    );
  });
});

describe('the connection is closed after the response to a chunked request', () => {
  test.each(heads)('%s', async (_, sent) => {
    const [response, ...more] = await inSteps(sent, '2\r\n{}\r\n', '0\r\n\r\n');
    expect([response?.headers.get('connection'), more]).toEqual(['close', []]);
  });

  test('that creates an animal', async () => {
    const { name, body } = newPetRequest('Chunked');
    const [response, ...more] = await inSteps(body, '0\r\n\r\n');
    expect([response?.status, response?.headers.get('connection'), more]).toEqual([201, 'close', []]);
    expect(response?.body).toContain(name);
  });

  test('on the admin port', async () => {
    const line = 'DELETE /admin/v1/keys/1';
    const [response, ...more] = await inStepsTo(adminUrl(app), head(line), '2\r\n{}\r\n', '0\r\n\r\n');
    expect([response?.headers.get('connection'), more]).toEqual(['close', []]);
  });
});

const chunks = (count: number, bytes: number) =>
  `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count);

describe('a client that sends 200 chunks before it reads receives the response to a rejected request', () => {
  const rejected = [
    ...heads.filter(([name, sent]) => name !== 'without mistakes' && !sent.startsWith('GET')),
    ['without mistakes, but with too many chunks', head('POST /v1/pets', authorization + json)],
  ] as const;

  test.each(rejected)('%s', async (name, sent) => {
    const count = 200 + (name.includes('too many') ? maxChunks : 0);
    const { early, responses } = await exchangeInSteps(app.url, [sent + chunks(count, 1), '0\r\n\r\n']);
    expect([early, responses.length]).toEqual(['', 1]);
  });
});

// These tests wait for the delay of a response whose body has too many chunks.
describe.concurrent('an endless body', () => {
  const bodies = [
    ['in small chunks', chunks(maxDroppedChunks, 1)],
    ['in large chunks', chunks(2, maxDroppedBytes / 2)],
  ] as const;

  test.each(
    heads
      .filter(([, line]) => !line.startsWith('GET'))
      .flatMap(([name, sent]) => bodies.map(([size, body]) => [name, size, sent, body] as const)),
  )(
    'in a request %s, sent %s, is discarded up to a limit, and the connection is closed',
    async (_, _size, sent, body) => {
      // If the operation needs a body, the service first reads it up to the maximum size.
      const needed = chunks(1, maxBodyBytes + 1);
      const [response, ...more] = await inSteps(sent, needed + body);
      expect([response?.headers.get('connection'), more]).toEqual(['close', []]);
    },
  );
});

test('a body may have 1,024 chunks, and is rejected if it has more', async () => {
  const pet = newPet('Chunked');
  const send = async (chunks: number) => {
    const single = [...(pet + ' '.repeat(chunks - pet.length))].map((byte) => `1\r\n${byte}\r\n`);
    const sent = `${head('POST /v1/pets', authorization + json)}${single.join('')}0\r\n\r\n`;
    const [response] = await inSteps(sent);
    return [response?.status, response?.body.includes('more than 1024 chunks')];
  };
  expect([await send(maxChunks), await send(maxChunks + 1)]).toEqual([
    [201, false],
    [400, true],
  ]);
});

describe('a request that waits for events', () => {
  test.each([
    ['a page of events', 'GET /v1/events?wait=30&after=0'],
    ['a stream', 'GET /v1/events/stream'],
  ])(
    'is rejected if it is chunked, because its body would be parsed until the response: %s',
    async (_, line) => {
      const [response, ...more] = await inSteps(head(line, authorization) + chunks(1, 1), next);
      expect([response?.status, response?.headers.get('connection'), more]).toEqual([400, 'close', []]);
      expect(response?.body).toContain('Transfer-Encoding');
    },
  );
});

test('the connection is closed after the response to a GET request with a chunked body', async () => {
  const answers = await inSteps(`${head('GET /v1/pets', authorization)}2\r\n{}\r\n0\r\n\r\n`);
  expect(answers.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([[200, 'close']]);
});

test('clients without a key that send the maximum number of chunks all receive a response', async () => {
  const body = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let sent = 0; sent < 3; sent++) controller.enqueue(new Uint8Array(16_384));
        controller.close();
      },
    });
  const statuses = await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${app.url}/v1/pets`, { method: 'POST', body: body() }).then(({ status }) => status),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect((await app.call('POST', '/pets', { body: newPet() })).status).toBe(201);
});

describe('beyond a number of bodies per minute and address, of requests that do not count against a limit', () => {
  test('the response does not wait for the body, and is the last one that a proxy accepts', async () => {
    await using limited = await startTestApp();
    const key = `Authorization: Bearer ${limited.key}\r\n`;
    const sent = head('POST /v1/pets', json);
    for (let count = 0; count < maxDroppedPerMinute; count++)
      await inStepsTo(limited.url, `${sent}0\r\n\r\n`);
    for (const body of ['', '1\r\nx\r\n', 'zz\r\n', '0\r\nX-Checksum: 1\r\n\r\n']) {
      const [response, ...more] = await inStepsTo(limited.url, sent + body + next);
      expect([response?.status, response?.headers.get('connection')]).toEqual([401, 'close']);
      // The runtime's response to a malformed chunk.
      expect(more.filter(({ status }) => status !== 400)).toEqual([]);
    }
    // Requests with a valid key count against its limits.
    const known = head('POST /v1/nowhere', key) + chunks(maxDroppedChunks - 1, 1);
    const { early, responses } = await exchangeInSteps(limited.url, [known, '0\r\n\r\n']);
    expect([early, responses.map(({ status }) => status)]).toEqual(['', [404]]);
  });

  test('the body is not read', async () => {
    const clock = new FakeClock();
    let unread = 0;
    const bodies = new UnreadBodies(clock, () => unread++);
    const chunksRead = async (network: string, isUnmetered = true) => {
      const { incoming, read } = incomingOf(network, 200, isUnmetered);
      await bodies.closeAfterChunked(incoming, new Response());
      return read();
    };
    for (let count = 0; count < maxDroppedPerMinute; count++) await chunksRead('192.0.2.1');
    expect(unread).toBe(0);
    expect(await chunksRead('192.0.2.1')).toBe(0);
    expect(await chunksRead('192.0.2.1', false)).toBe(200);
    expect(await chunksRead('192.0.2.2')).toBe(200);
    clock.advance(60);
    expect(await chunksRead('192.0.2.1')).toBe(200);
    expect(unread).toBe(1);
  });
});

test('if a body has too many chunks, the response waits for a moment, unless too many others are waiting, whereupon no body is read', async () => {
  const bodies = new UnreadBodies(new FakeClock());
  const late = incomingOf('192.0.2.100', 1);
  const order: number[] = [];
  const reads = Array.from({ length: maxWaiting + 1 }, async (_, index) => {
    const { incoming, read } = incomingOf(`192.0.2.${index}`, 2 * maxDroppedChunks);
    await bodies.closeAfterChunked(incoming, new Response());
    // The others wait while the first response is sent.
    if (order.push(index) === 1) await bodies.closeAfterChunked(late.incoming, new Response());
    return read();
  });
  expect(new Set(await Promise.all(reads))).toEqual(new Set([maxDroppedChunks]));
  expect([order[0], late.read()]).toEqual([maxWaiting, 0]);
});

test('the response to a rejected request waits for its body only until a timeout', async () => {
  const endless = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
  const headers = { 'Transfer-Encoding': 'chunked' };
  const request = new Request(app.url, { method: 'POST', headers, body: endless });
  const bodies = new UnreadBodies(new FakeClock(), undefined, 1);
  const incoming = { request, network: () => '192.0.2.1', isUnmetered: () => true };
  expect((await bodies.closeAfterChunked(incoming, new Response('rejected'))).status).toBe(200);
});

/** A chunked request, and the number of its chunks that were read. */
function incomingOf(network: string, count: number, isUnmetered = true) {
  let read = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (read === count) return controller.close();
        read++;
        controller.enqueue(new Uint8Array(1));
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { 'Transfer-Encoding': 'chunked' };
  const request = new Request(app.url, { method: 'POST', headers, body });
  const incoming = { request, network: () => network, isUnmetered: () => isUnmetered };
  return { incoming, read: () => read };
}
