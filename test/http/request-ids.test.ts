/** Every response has a request id for operators, including errors and paths outside /v1. */
import { describe, expect, test } from 'bun:test';
import { handleRequest } from '../../src/http/pipeline/pipeline.ts';
import { createPublicRoutes } from '../../src/http/public/public-routes.ts';
import { startAppForFile } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
import { incomingOf, requestContextOf, serve } from '../support/request-context.ts';

const app = await startAppForFile();

const paths = [
  ...['/', '/docs', '/docs/scalar.js', '/openapi.json', '/livez', '/readyz', '/.well-known/api-catalog'],
  ...['/client.tgz', '/nowhere', '/v2/pets'],
];

describe.each(paths)('%s', (path) => {
  const send = (method: string, id?: string) =>
    fetch(app.url + path, {
      method,
      redirect: 'manual',
      headers: id === undefined ? {} : { 'X-Request-Id': id },
    });

  test("returns the client's request id if it is valid, and otherwise a generated id", async () => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      expect((await send(method, 'My-Request.7')).headers.get('x-request-id')).toBe('My-Request.7');
    }
    const ids = [];
    for (const sent of [undefined, 'not/an/id', undefined]) {
      ids.push((await send('GET', sent)).headers.get('x-request-id') ?? '');
    }
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('returns Cache-Control and X-Content-Type-Options: nosniff', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, headers } = await send(method);
      // A redirect has no body.
      if (status !== 302) expect(headers.get('x-content-type-options')).toBe('nosniff');
      if (status >= 400) expect(headers.get('cache-control')).toBe('no-store');
      else if (/^\/\w+z$/.test(path)) expect(headers.get('cache-control')).toBe('no-store');
      else if (status !== 302)
        expect(headers.get('cache-control')).toMatch(/^(?:no-cache|public, .*immutable)$/);
    }
  });
});

/** Expects an internal error with an Error body, and its request id in the log. */
async function expectLogged(response: Response, lines: readonly Readonly<Record<string, unknown>>[]) {
  expect(response.status).toBe(500);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({ code: 'internal_error', status: 500 });
  expect(text).not.toContain('secret');
  const requestId = response.headers.get('x-request-id') ?? '';
  expect(requestId).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  const failure = expect.objectContaining({ level: 50, requestId, msg: 'request failed' });
  expect(lines).toContainEqual(failure);
  return requestId;
}

describe('500 internal_error', () => {
  const broken = () => {
    throw new Error('a secret of the inside');
  };

  test('is logged under the request id when a page outside /v1 fails', async () => {
    const { log, lines } = keptLog();
    const context = requestContextOf(app, log);
    const { respond } = createPublicRoutes(context, {
      openapi: () => '{"servers":[]}',
      publicUrl: undefined,
      address: () => '',
      perMinute: 1,
      health: broken,
    });
    const response = await respond(
      incomingOf('http://a.example/readyz', { 'X-Request-Id': 'mine' }),
      '/readyz',
    );
    expect(await expectLogged(response, lines)).toBe('mine');
  });

  test('is logged under the request id when the error response itself fails', async () => {
    const { log, lines } = keptLog();
    const context = requestContextOf(app, log);
    const incoming = {
      ...incomingOf('http://a.example/v1/pets', { 'X-Request-Id': 'mine' }),
      network: broken,
    };
    expect(await expectLogged(await handleRequest(context, incoming), lines)).toBe('mine');
  });

  test('is logged under a generated id when the server fails before the request is read', async () => {
    const { log, lines } = keptLog();
    const context = requestContextOf(app, log);
    let made = 0;
    const newRequestId = () => (made++ === 0 ? broken() : `made-${made}`);
    await using served = serve({ ...context, newRequestId });
    const response = await fetch(`${served.url}/livez`);
    expect(await expectLogged(response, lines)).toBe('made-2');
  });
});
