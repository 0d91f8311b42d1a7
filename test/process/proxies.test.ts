/** The service behind real proxies with the configurations in deploy/. */
import { describe, expect } from 'bun:test';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ErrorCode, errors } from '../../src/contract/errors.ts';
import { maxStreams } from '../../src/contract/events.ts';
import { deliveredProxy, replaced } from '../stress/rolling-proxy.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/folder.ts';
import { newPet } from '../support/pets.ts';
import { exchange, sendAndHalfClose } from '../support/raw.ts';
import { testWith } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';

const app = await startAppForFile();

const authorization = `Bearer ${app.key}`;

const haproxyTest = testWith({ name: 'haproxy', package: 'haproxy' }, [
  findProgram('haproxy') ?? 'haproxy',
  '-v',
]);

const nginxTest = testWith({ name: 'nginx', package: 'nginx' }, [findProgram('nginx') ?? 'nginx', '-v']);

/** Changes the delivered configurations so that a single failure marks an instance as failed. */
const strict = {
  nginx: (text: string) => text.replaceAll(' max_fails=0', ''),
  haproxy: (text: string) =>
    replaced(
      text,
      'default-server check',
      'default-server check observe layer7 error-limit 1 on-error mark-down',
    ),
};

/** Changes the delivered configurations so that no connection is closed as idle. */
const patient = {
  nginx: (text: string) =>
    replaced(text, 'proxy_connect_timeout', 'proxy_read_timeout 1h; proxy_connect_timeout'),
  haproxy: (text: string) => text.replaceAll(/(timeout (?:client|server)) 60s/g, '$1 1h'),
};

/** Changes the delivered configurations so that a missing request or response is noticed after a second. */
const hasty = {
  nginx: (text: string) =>
    replaced(
      replaced(text, 'client_header_timeout 10s', 'client_header_timeout 1s'),
      'server {',
      'server { proxy_read_timeout 1s;',
    ),
  haproxy: (text: string) =>
    replaced(text, 'timeout http-request 10s', 'timeout http-request 1s').replaceAll(
      /(timeout (?:client|server)) 60s/g,
      '$1 1s',
    ),
};

const host = 'Host: animals.example\r\n';
const head = (line: string, headers = '') => `${line} HTTP/1.1\r\n${host}${headers}\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';
const manyIds = Array.from({ length: 100 }, (_, index) =>
  index < 2 ? index + 1 : -(2n ** 63n) + BigInt(index),
);

/** Requests that the runtime, the service or the proxy refuses, and a request with the longest response head. */
const refused = [
  ['an unknown method', head('FOO /v1/pets')],
  ['an unknown method with a body', `${head('FOO /v1/pets', 'Content-Length: 2\r\n')}{}`],
  ['an unknown method outside /v1', head('GETS /livez')],
  ['a method in lower case', head('get /v1/pets')],
  ['the method of HTTP/2', head('PRI /v1/pets')],
  ['CONNECT', head('CONNECT /v1/pets')],
  ['TRACE', head('TRACE /v1/pets')],
  ['an asterisk', head('OPTIONS *')],
  ['a long target', head(`GET /v1/pets?${'a'.repeat(7_900)}`)],
  ['a target that is too long', head(`GET /v1/pets?${'a'.repeat(20_000)}`)],
  ['headers that are too long', head('GET /v1/pets', `X: ${'a'.repeat(7_900)}\r\n`.repeat(4))],
  ['too many headers', head('GET /v1/pets', 'X: a\r\n'.repeat(300))],
  ['a control character', head('GET /v1/pets', 'X: a\x01b\r\n')],
  ['an invalid Host', 'GET /v1/pets HTTP/1.1\r\nHost: [::\r\n\r\n'],
  ['no Host', 'GET /v1/pets HTTP/1.1\r\n\r\n'],
  ['a foreign absolute target', head('GET ftp://animals.example/v1/pets')],
  ['a chunked GET', `${head('GET /v1/pets', chunked)}1\r\nx\r\n0\r\n\r\n`],
  ['a chunked POST', `${head('POST /v1/pets', chunked)}1\r\nx\r\n0\r\n\r\n`],
  ['an invalid chunk', `${head('POST /v1/pets', chunked)}zz\r\n`],
  ['a trailer', `${head('POST /v1/pets', chunked)}1\r\nx\r\n0\r\nT: u\r\n\r\n`],
  ['another coding', `${head('POST /v1/pets', 'Transfer-Encoding: gzip, chunked\r\n')}0\r\n\r\n`],
  ['a body that is too large', head('POST /v1/pets', 'Content-Length: 9223372036854775807\r\n')],
  ['an unknown expectation', head('GET /v1/pets', 'Expect: x\r\n')],
  ['an upgrade', head('GET /v1/pets', 'Connection: Upgrade\r\nUpgrade: h2c\r\n')],
  ['HTTP/1.9', `GET /v1/pets HTTP/1.9\r\n${host}\r\n`],
  ['no version', 'GET /v1/pets\r\n\r\n'],
  ['the longest links', head(`GET /v1/pets?limit=1&id=${manyIds}`, `Authorization: ${authorization}\r\n`)],
] as const;

const proxies = [
  ['nginx', nginxTest],
  ['haproxy', haproxyTest],
] as const;

/** Opens a connection, and returns what has been received so far as Latin-1. */
function openSocket(url: string) {
  const { hostname, port } = new URL(url);
  let text = '';
  const socket = connect(Number(port), hostname)
    .on('error', () => undefined)
    .on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
  return { socket, received: () => text };
}

describe.each(proxies)('behind %s', (name, proxyTest) => {
  proxyTest('an instance that refuses a request is not considered failed', async () => {
    await using other = await startTestApp();
    for (const _ of ['first', 'second']) await app.call('POST', '/pets', { body: newPet() });
    await using proxy = await deliveredProxy(name, [app.url, other.url], strict[name]);
    if (proxy === undefined) throw new Error(`${name} is missing.`);
    for (const [what, bytes] of refused) {
      const status = await statusOf(proxy.url, bytes);
      expect([what, status === 501 || status < 500]).toEqual([what, true]);
      expect([what, await statusesOfOthers(proxy.url)]).toEqual([what, [200, 200, 200, 200]]);
    }
  });

  proxyTest('a closed event stream no longer counts against the limit', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url], patient[name]);
    const url = proxy?.url ?? '';
    using opened = new DisposableStack();
    const open = async () => {
      const connection = opened.use(await Connection.open(url));
      const { status } = await connection.get('/v1/events/stream', app.key);
      return { status, connection };
    };
    const streams = await Promise.all(Array.from({ length: maxStreams }, open));
    expect([...streams, await open()].map(({ status }) => status)).toEqual([...streams.map(() => 200), 429]);
    for (const { connection } of streams) connection[Symbol.dispose]();
    await until(async () => (await open()).status === 200);
  });

  proxyTest('a request head that never ends is cut off, even if lines keep arriving', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url], hasty[name]);
    const { socket, received } = openSocket(proxy?.url ?? '');
    socket.write(`GET /livez HTTP/1.1\r\n${host}`);
    const lines = setInterval(() => socket.write('X: a\r\n'), 100);
    await until(() => socket.destroyed);
    clearInterval(lines);
    expect(received()).toBe('');
  });

  proxyTest.each(['FOO', 'GETS'])('the unknown method %s gets 405 with Allow', async (method) => {
    await using proxy = await deliveredProxy(name, [app.url, app.url]);
    const [response] = await sendAndHalfClose(proxy?.url ?? '', head(`${method} /v1/pets`));
    expect([response?.status, response?.headers.get('allow'), JSON.parse(response?.body ?? '')]).toEqual([
      405,
      'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      { code: 'method_not_allowed', message: expect.any(String), status: 405 },
    ]);
  });
});

describe.each(proxies)('HTTP/2 to %s', (name, proxyTest) => {
  proxyTest('is refused, because its many requests would count as one connection', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url]);
    const { socket, received } = openSocket(proxy?.url ?? '');
    // The client's connection preface (RFC 9113, section 3.4), with an empty SETTINGS frame.
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    await until(() => socket.destroyed || received() !== '');
    socket.destroy();
    // With HTTP/2, the proxy would send a SETTINGS frame, whose fourth byte is 4.
    expect(received().charCodeAt(3)).not.toBe(4);
  });
});

const close = 'Connection: close\r\n';

/** Requests that a proxy rejects, or that the runtime behind it rejects without a body. */
const described = [
  ['a target that is too long', head(`GET /v1/pets?${'a'.repeat(20_000)}`, close), 'invalid_parameter'],
  [
    'headers that are too long',
    head('GET /', close + `X: ${'a'.repeat(7_000)}\r\n`.repeat(3)),
    'invalid_parameter',
  ],
  ['no Host', `GET /v1/pets HTTP/1.1\r\n${close}\r\n`, 'invalid_parameter'],
  ['an asterisk', head('OPTIONS *', close), 'invalid_parameter'],
  ['TRACE', head('TRACE /v1/pets', close), 'method_not_allowed'],
] as const;

/** Requests for which HAProxy has an HTML page that cannot be replaced. */
const describedByNginx = [
  ['a method in lower case', head('get /v1/pets', close), 'invalid_parameter'],
  ['a space in the target', head('GET /v1/pets?a b', close), 'invalid_parameter'],
  ['an invalid chunk', `${head('POST /v1/pets', chunked)}zz\r\n`, 'invalid_parameter'],
  ['another coding', `${head('POST /v1/pets', 'Transfer-Encoding: gzip, chunked\r\n')}`, 'invalid_parameter'],
  ['HTTP/2.0', `GET /v1/pets HTTP/2.0\r\n${host}\r\n`, 'invalid_parameter'],
  ['TLS', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n', 'invalid_parameter'],
  [
    'a body of over 32 kB',
    `${head('POST /v1/pets', `${close}Content-Length: 33000\r\n`)}${' '.repeat(33_000)}`,
    'body_too_large',
  ],
  ['the path of an error', head('GET /malformed-request', close), 'route_not_found'],
] as const;

/** A server that closes the connection of a request for /closed, does not respond to /hangs, and otherwise responds with 200. */
async function brokenInstance() {
  const server = createServer((request, response) => {
    if (request.url === '/closed') request.socket.destroy();
    else if (request.url !== '/hangs') response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The code of an error response. Throws unless the response is complete and its status belongs to the code. */
function codeOf(response: Awaited<ReturnType<typeof exchange>>[number] | undefined): string {
  const body = JSON.parse(response?.body ?? '') as { code: ErrorCode; message: string; status: number };
  const { status } = errors[body.code];
  expect([body, response?.status, response?.headers.get('content-type')]).toEqual([
    { code: body.code, message: expect.stringMatching(/./), status },
    status,
    'application/json',
  ]);
  expect(response?.headers.get('cache-control')).toBe('no-store');
  if (status === 503) expect(Number(response?.headers.get('retry-after'))).toBeGreaterThan(0);
  return body.code;
}

describe.each([
  ['nginx', nginxTest, [...described, ...describedByNginx]],
  ['haproxy', haproxyTest, described],
] as const)('errors of %s', (name, proxyTest, requests) => {
  proxyTest('are described like errors of the service', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url]);
    for (const [what, bytes, code] of requests) {
      const [response] = await exchange(proxy?.url ?? '', bytes);
      expect([what, codeOf(response)]).toEqual([what, code]);
    }
  });

  proxyTest('say that the outcome is unknown unless no instance received the request', async () => {
    using broken = await brokenInstance();
    await using proxy = await deliveredProxy(name, [broken.url, broken.url], hasty[name]);
    for (const path of ['/closed', '/hangs']) {
      const [response] = await exchange(
        proxy?.url ?? '',
        head(`POST ${path}`, `${close}Content-Length: 0\r\n`),
      );
      expect([path, codeOf(response)]).toEqual([path, 'service_unavailable']);
      expect(response?.body).toContain('outcome of the request is unknown');
    }
    broken[Symbol.dispose]();
    const [response] = await exchange(
      proxy?.url ?? '',
      head('POST /closed', `${close}Content-Length: 0\r\n`),
    );
    expect(codeOf(response)).toBe('service_unavailable');
    // nginx does not distinguish these cases.
    const isCertain = response?.body.includes('Nothing was changed.');
    expect(isCertain).toBe(name === 'haproxy');
  });

  proxyTest('do not include a response to an incomplete request', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url], hasty[name]);
    expect(await exchange(proxy?.url ?? '', 'GET /livez HT')).toEqual([]);
  });

  proxyTest('do not occur if an HTTP/1.0 request has no Host', async () => {
    await using proxy = await deliveredProxy(name, [app.url, app.url]);
    const request = `GET /v1/rate-limit HTTP/1.0\r\nAuthorization: ${authorization}\r\n\r\n`;
    for (const url of [app.url, proxy?.url ?? ''])
      expect((await exchange(url, request)).map(({ status }) => status)).toEqual([200]);
  });
});

/** The status of the first response. 0 if the connection is closed without a response. */
async function statusOf(url: string, bytes: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const { promise, resolve } = Promise.withResolvers<number>();
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    const status = /^HTTP\/1\.\d (\d{3})/.exec(received)?.[1];
    if (status !== undefined) resolve(Number(status));
  });
  socket.on('error', () => resolve(0));
  socket.on('close', () => resolve(0));
  socket.write(Buffer.from(bytes, 'latin1'));
  return promise.finally(() => socket.destroy());
}

async function statusesOfOthers(url: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let request = 0; request < 4; request++) statuses.push((await fetch(`${url}/livez`)).status);
  return statuses;
}

/** Directives that compress all responses, and the line below which they belong. */
const compression = {
  nginx: ['http {', 'gzip on; gzip_types application/json; gzip_min_length 0;'],
  haproxy: ['defaults', '  compression algo gzip\n  compression type application/json'],
} as const;

describe.each(proxies)('behind %s with compression', (name, proxyTest) => {
  proxyTest(
    'a change with the weakened ETag of the current response succeeds, and a change with an older ETag fails',
    async () => {
      const [section, directives] = compression[name];
      const compressing = (text: string) => replaced(text, section, `${section}\n${directives}`);
      await using proxy = await deliveredProxy(name, [app.url, app.url], compressing);
      if (proxy === undefined) throw new Error(`${name} is missing.`);
      const pets = `${proxy.url}/v1/pets`;
      const headers = { authorization, 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip' };
      const added = await fetch(pets, { method: 'POST', headers, body: newPet('Ozzy') });
      const pet = `${pets}/${((await added.json()) as { id: number }).id}`;
      const read = await fetch(pet, { headers });
      const etag = read.headers.get('etag') ?? '';
      expect([read.headers.get('content-encoding'), etag]).toEqual(['gzip', expect.stringMatching(/^W\/"/)]);
      const change = (name: string) =>
        fetch(pet, {
          method: 'PATCH',
          headers: { ...headers, 'If-Match': etag },
          body: JSON.stringify({ name }),
        });
      expect((await change('Anna')).status).toBe(200);
      expect((await change('Ben')).status).toBe(412);
      const { headers: current } = await fetch(pet, { headers });
      const tag = current.get('etag') ?? '';
      expect((await fetch(pet, { headers: { ...headers, 'If-None-Match': tag } })).status).toBe(304);
    },
  );
});

describe('behind nginx', () => {
  nginxTest(
    'neither a response that its client does not read nor a request body is written to the disk',
    async () => {
      await using folder = await temporaryFolder();
      // If the tests run as root, nginx runs as another user.
      chmodSync(folder.path, 0o777);
      const log = join(folder.path, 'error.log');
      const logging = (text: string) => replaced(text, 'server {', `error_log "${log}" warn; server {`);
      await using proxy = await deliveredProxy('nginx', [app.url, app.url], logging);
      const { hostname, port } = new URL(proxy?.url ?? '');
      const socket = connect(Number(port), hostname);
      socket.write(head('GET /docs/scalar.js', close));
      await once(socket, 'readable');
      // Gives nginx time to receive the first response as well.
      await (await fetch(`${proxy?.url}/docs/scalar.js`)).bytes();
      await text(socket);
      const body = ' '.repeat(32_000);
      await exchange(
        proxy?.url ?? '',
        `${head('POST /v1/pets', `${close}Content-Length: ${body.length}\r\n`)}${body}`,
      );
      expect(readFileSync(log, 'utf8')).not.toContain('temporary file');
    },
  );
});

describe('behind haproxy', () => {
  haproxyTest('requests are served even if the name of an instance does not resolve', async () => {
    await using proxy = await deliveredProxy('haproxy', [app.url]);
    if (proxy === undefined) throw new Error('haproxy is missing.');
    for (let sent = 0; sent < 4; sent++)
      expect((await fetch(`${proxy.url}/v1/rate-limit`, { headers: { authorization } })).status).toBe(200);
  });

  haproxyTest("rejected chunked requests with trailers do not affect other clients' responses", async () => {
    await using proxy = await deliveredProxy('haproxy', [app.url, app.url]);
    if (proxy === undefined) throw new Error('haproxy is missing.');
    const { url } = proxy;
    let attacks = 0;
    const attack = async () => {
      for (let sent = 0; sent < 200; sent++) {
        await sendAndHalfClose(
          url,
          'POST /v1/pets HTTP/1.1\r\nHost: animals.example\r\nTransfer-Encoding: chunked\r\n\r\n' +
            '2\r\n{}\r\n0\r\nX-Checksum: 1\r\n\r\n',
        );
        attacks++;
      }
    };
    const statuses = new Set<number>();
    const attacking = Promise.all(Array.from({ length: 8 }, attack));
    const others = Array.from({ length: 8 }, async () => {
      while (attacks < 1_600) {
        const { status } = await fetch(`${url}/v1/rate-limit`, { headers: { authorization } });
        statuses.add(status);
      }
    });
    await Promise.all([attacking, ...others]);
    expect(statuses).toEqual(new Set([200]));
  });
});
