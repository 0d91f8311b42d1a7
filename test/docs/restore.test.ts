/** The commands for backup and restore, run as the operators' page prints them. */
import { expect, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

/** The blocks of a section of docs/operating.md, for the store of a test and without the start of the service. */
async function commandsOf(heading: string): Promise<string[]> {
  const page = await Bun.file(join(root, 'docs/operating.md')).text();
  const [, section = ''] = page.split(`\n### ${heading}\n`);
  const blocks = section.slice(0, section.indexOf('\n### ')).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, text = '']) =>
    text.replaceAll('data/animal-store.', 'data/store.').replace('npm start\n', ''),
  );
}

async function run(commands: string, cwd: string): Promise<string> {
  const child = Bun.spawn(['sh', '-e', '-c', commands], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [output, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
  return output;
}

testWith({ name: 'sqlite3', package: 'sqlite3', optional: true }, ['sqlite3', '--version'])(
  'a backup taken while the service runs brings back animals, keys and counts as they were, whatever came after it',
  async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, 'data');
    const [backUp = '', restore = ''] = await commandsOf('Embedded store (SQLite)');
    let key = '';
    {
      await using service = await startService(data);
      key = service.firstKey ?? '';
      const client = clientOf(service.url, key);
      expect((await client.add('Before')).status).toBe(201);
      await run(backUp, folder.path);
      expect((await client.add('After')).status).toBe(201);
    }
    // The service was killed, so its write-ahead log is still there and must not reach the restored file.
    expect(await run(restore, folder.path)).toBe('ok\n');

    await using service = await startService(data);
    const { text, remaining } = await clientOf(service.url, key).get('/pets');
    expect(JSON.parse(text)).toMatchObject([{ id: 1, name: 'Before' }]);
    expect(text).not.toContain('After');
    expect(remaining).toBe(58);
    expect(service.stderr()).not.toContain('other users of this machine');
  },
);
