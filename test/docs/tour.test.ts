/** Tours of the README and the guides, run as a reader would: the commands of a step in one shell, their output compared with what stands below. */
import { expect, setDefaultTimeout } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testWith } from '../support/requirements.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const repository = join(import.meta.dir, '../..');
const step = /```sh\n([\s\S]*?)```\n(?:```\n([\s\S]*?)```\n)?/g;

/** Text with … for what may differ. */
function pattern(expected: string): RegExp {
  const literal = expected.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^\\s*${literal.replace(/…/g, '[\\s\\S]*')}\\s*$`);
}

async function startedService(folder: string) {
  const env = {
    ...process.env,
    // npx needs a home it can write to, and not every user has one.
    HOME: folder,
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'store.db')}`,
    DRAIN_SECONDS: '0',
  };
  const service = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
    cwd: repository,
    env,
    stdout: 'pipe',
    stderr: 'ignore',
  });
  let output = '';
  for await (const chunk of service.stdout) {
    output += new TextDecoder().decode(chunk);
    if (output.includes('Manage accounts')) break;
  }
  const [, api = '', keyFile = ''] = /(http:\S+\/v1)\n[\s\S]* is in (.*); copy the key/.exec(output) ?? [];
  const key = (await Bun.file(keyFile).text()).trim();
  return { service, env, api, key };
}

/** The documents with a tour, and how many steps of each a reader does before the first request. */
const tours: readonly [document: string, settings: number][] = [
  ['README.md', 1],
  ['docs/guides/animals.md', 0],
  ['docs/guides/orders.md', 0],
  ['docs/guides/conditional-requests.md', 0],
];

testWith({ name: 'curl', package: 'curl' }, ['curl', '--version']).each(tours)(
  'the tour of %s works as it is printed',
  async (document, settings) => {
    const folder = await mkdtemp(join(tmpdir(), 'tour-'));
    const { service, env, api, key } = await startedService(folder);
    try {
      const text = await Bun.file(join(repository, document)).text();
      const tour = text.slice(text.indexOf('<!-- tour'), text.indexOf('<!-- /tour'));
      const steps = [...tour.matchAll(step)];
      expect(steps.length).toBeGreaterThan(1 + settings);
      for (const [, commands = '', expected] of steps.slice(settings)) {
        const script = `cd '${repository}'; export API='${api}' KEY='${key}'; ${inFolder(commands, `'${folder}/'`)}`;
        const shell = Bun.spawn(['sh', '-c', script], { env, stdout: 'pipe', stderr: 'ignore' });
        const output = await new Response(shell.stdout).text();
        if (expected !== undefined)
          expect(output.replace(/\r/g, '')).toMatch(pattern(inFolder(expected, `${folder}/`)));
      }
    } finally {
      service.kill('SIGTERM');
      await service.exited;
      await rm(folder, { recursive: true });
    }
  },
);

/** A reader's file lies in the working directory; the test's in its own. */
function inFolder(commands: string, folder: string): string {
  return commands.replaceAll('animals.csv', `${folder}animals.csv`);
}
