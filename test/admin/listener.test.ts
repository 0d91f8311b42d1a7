/** The address of the admin API, and how the service starts if the admin port is in use. */
import { expect, test } from 'bun:test';
import type { Logger } from 'pino';
import { readConfig } from '../../src/config.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
import { rejectionOf } from '../support/rejection.ts';
import { likelyFreePort } from '../support/server-process.ts';

const adminOf = (environment: Record<string, string>) => readConfig(environment).admin;

test('the admin API listens on port PORT + 1, and only on the loopback address', () => {
  expect(adminOf({})).toMatchObject({ host: '127.0.0.1', port: 3_001 });
  expect(adminOf({ PORT: '8080', HOST: '0.0.0.0' })).toMatchObject({ host: '127.0.0.1', port: 8_081 });
  expect(adminOf({ PORT: '0' })).toMatchObject({ port: 0 });
  expect(adminOf({ PORT: '65535' })).toMatchObject({ port: 65_534 });
  expect(adminOf({ ADMIN_PORT: '9000' })).toMatchObject({ port: 9_000 });
  expect(adminOf({ ADMIN_PORT: 'off' })).toBeUndefined();
});

test('an ADMIN_HOST that other machines can reach is rejected without ADMIN_ORIGIN, and the error states the reason and the remedy', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'admin.internal']) {
    expect(() => readConfig({ ADMIN_HOST: host })).toThrow(
      new RegExp(`ADMIN_ORIGIN must be set when ADMIN_HOST is ${host}: .* in clear text\\. Put a TLS proxy`),
    );
    const ADMIN_ORIGIN = 'https://admin.example.com';
    expect(adminOf({ ADMIN_HOST: host, ADMIN_ORIGIN })).toMatchObject({ host, origin: ADMIN_ORIGIN });
    expect(adminOf({ ADMIN_HOST: host, ADMIN_PORT: 'off' })).toBeUndefined();
  }
  for (const host of ['127.0.0.1', '127.8.0.1', '::1', 'localhost'])
    expect(adminOf({ ADMIN_HOST: host })).toBeDefined();
});

test("the admin API cannot use the service's port", () => {
  expect(() => readConfig({ PORT: '8080', ADMIN_PORT: '8080' })).toThrow('ADMIN_PORT must differ from PORT');
});

/** An occupied port whose listener allows port sharing. */
function takenPort(): { readonly port: number } & AsyncDisposable {
  for (;;) {
    const port = likelyFreePort();
    try {
      const server = Bun.serve({ port, hostname: '127.0.0.1', reusePort: true, fetch: () => new Response() });
      return { port, [Symbol.asyncDispose]: () => server.stop(true) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** A service whose default admin port (`PORT` + 1) is in use. Tries other ports if `PORT` is also in use. */
async function startedNextToTaken(log: Logger): Promise<{ app: TestApp; port: number } & AsyncDisposable> {
  for (;;) {
    await using made = new AsyncDisposableStack();
    const { port } = made.use(takenPort());
    try {
      const app = made.use(await startTestApp({ PORT: String(port - 1) }, log));
      const kept = made.move();
      return { app, port, [Symbol.asyncDispose]: () => kept.disposeAsync() };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

test('the service starts without the admin API and logs the reason if the default port is in use', async () => {
  const { log, lines } = keptLog();
  await using started = await startedNextToTaken(log);
  const { app, port } = started;
  expect(app.app.console).toBeUndefined();
  const msg = expect.stringMatching(/off: their port is in use; set ADMIN_PORT/);
  expect(lines).toContainEqual(expect.objectContaining({ port, msg }));
  expect((await app.call('GET', '/pets')).status).toBe(200);
});

test('the service does not start if the configured admin port is in use', async () => {
  await using taken = takenPort();
  const error = await rejectionOf(startTestApp({ ADMIN_PORT: String(taken.port) }));
  expect((error as Error).message).toMatch(
    new RegExp(
      `^Port ${taken.port} on 127\\.0\\.0\\.1 is already in use\\. .* set ADMIN_PORT to another port`,
    ),
  );
});
