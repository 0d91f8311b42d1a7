import { expect } from 'bun:test';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/means.ts';
import { startService } from '../support/process.ts';

testWith('npm and setsid (util-linux)', ['setsid', 'npm', '--version'])(
  'npm start passes SIGTERM on: the service drains and is gone, and npm with it',
  async () => {
    await using folder = await temporaryFolder();
    // A process group of its own, so that a service that npm left behind does not outlive the test.
    await using npm = await startService(folder.path, {}, ['setsid', 'npm', 'start']);
    using _group = { [Symbol.dispose]: () => killGroup(npm.pid) };
    expect((await fetch(`${npm.url}/livez`)).status).toBe(200);
    npm.signal('SIGTERM');
    await npm.exited;
    expect(npm.stderr()).toContain('"msg":"stopped"');
    await expect(fetch(`${npm.url}/livez`)).rejects.toThrow();
  },
  20_000,
);

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // As it should be: nobody is left.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
