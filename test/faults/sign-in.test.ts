/** Operators sign in while the store cannot be written to. */
import { expect } from 'bun:test';
import { headersOf, sendAdmin, sessionOf, type TestSession } from '../support/admin.ts';
import { commandLine } from '../support/cli.ts';
import { temporaryFolder } from '../support/folder.ts';
import { consoleOf, serveCommand, settingsIn, start, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { fillDisk, onSmallDisk, smallDisks } from './disk.ts';

const testSmallDisk = testWith(...smallDisks);

/**
 * Adds an operator with the command line, which runs in the mount namespace of the service and therefore uses the same
 * disk.
 */
async function addOperator(pid: number, folder: string, name: string): Promise<string> {
  const enter = ['nsenter', '--target', String(pid), '--user', '--mount', '--preserve-credentials'];
  const create = ['operators', 'create', name, '--role', 'admin', '--json'];
  await using child = start([...enter, ...commandLine, ...create], { environment: settingsIn(folder) });
  expect([await child.exited, child.stderr()]).toEqual([0, '']);
  return (JSON.parse(child.stdout()) as { token: string }).token;
}

testSmallDisk(
  'operators can sign in and out while the disk is full, and a rejected change reports the full disk',
  async () => {
    await using folder = await temporaryFolder();
    const settings = { ADMIN_PORT: '0', DRAIN_SECONDS: '0' };
    await using service = await startService(
      folder.path,
      settings,
      onSmallDisk(folder.path, 'rw', serveCommand),
    );
    const url = await consoleOf(service);
    const token = await addOperator(service.pid, folder.path, 'anna');
    const others = await addOperator(service.pid, folder.path, 'bert');
    const signIn = async (sent: string) =>
      sessionOf(await sendAdmin(url, 'POST', '/session', { body: { token: sent } }));
    const ask = (session: TestSession, method: string, target: string, body?: unknown) =>
      sendAdmin(url, method, target, { headers: { ...headersOf(session), Origin: url }, body });

    const stored = await signIn(token);
    const free = fillDisk(service.pid, folder.path);
    const session = await signIn(token);
    const ofOther = await signIn(others);
    const overview = await ask(session, 'GET', '/overview');
    expect(overview.status).toBe(200);
    expect(overview.text).toMatch(/has \S+ \w+ left/);
    const refused = await ask(session, 'POST', '/accounts', { name: 'Shop', plan: 'free' });
    expect([refused.status, refused.code]).toEqual([503, 'service_unavailable']);
    expect(refused.text).toContain('database or disk is full');

    // Signing out works for a stored session and for a session that could not be stored.
    for (const each of [stored, session]) {
      expect((await ask(each, 'DELETE', '/session')).status).toBe(204);
      expect((await ask(each, 'GET', '/session')).status).toBe(401);
    }

    free();
    expect((await ask(ofOther, 'POST', '/accounts', { name: 'Shop', plan: 'free' })).status).toBe(201);
    expect((await ask(ofOther, 'POST', `/operators/2/rotate`)).status).toBe(200);
    expect((await ask(ofOther, 'GET', '/session')).status).toBe(401);
  },
);
