/** Commands whose standard output cannot be written. */
import { afterAll, expect, test } from 'bun:test';
import { newWorkplace } from '../support/cli.ts';
import { commandLine } from '../support/command.ts';
import { finished, settingsIn } from '../support/process.ts';

const place = await newWorkplace();
afterAll(() => place[Symbol.asyncDispose]());

/** Runs a command in a shell, with its standard output redirected. */
function redirected(words: string, redirection: string) {
  const command = ['bash', '-c', `set -o pipefail; '${commandLine.join("' '")}' ${words} ${redirection}`];
  return finished(command, { environment: settingsIn(place.folder), cwd: place.folder });
}

const reasons = [
  ['full', '>/dev/full', 'ENOSPC: no space left on device'],
  ['closed', '>&-', 'it is closed'],
] as const;

for (const [how, redirection, reason] of reasons) {
  const message = `Cannot write standard output: ${reason}.`;

  test(`if standard output is ${how}, a command fails with one message`, async () => {
    for (const words of ['keys list', 'status', 'export - --format csv', 'openapi', '--help']) {
      const { exitCode, stderr } = await redirected(words, redirection);
      expect([words, exitCode, stderr]).toEqual([words, 1, `animal-store: ${message}\n`]);
    }
    const { exitCode, stderr } = await redirected('keys list --json', redirection);
    expect([exitCode, JSON.parse(stderr)]).toEqual([1, { error: { message } }]);
  });

  test(`if standard output is ${how}, a secret that cannot be shown is reported with the remedy`, async () => {
    const { id } = await place.json<{ id: number }>('keys', 'create', '--plan', 'free');
    for (const [words, remedy] of [
      ['keys create --plan free', /^Key (\d+) of account \d+ was created, .*"animal-store keys revoke \1"/],
      [`keys rotate ${id}`, /^Key (\d+) of account \d+ was created, .*"animal-store keys revoke \1"/],
      [`operators create ${how} --role admin`, /^Operator (\d+) .*"animal-store operators revoke \1"/],
      [`operators rotate ${how}`, /^Operator (\d+) .*"animal-store operators revoke \1"/],
    ] as const) {
      for (const json of /keys rotate|operators create/.test(words) ? [' --json'] : ['', ' --json']) {
        const { exitCode, stderr } = await redirected(words + json, redirection);
        const said = json ? JSON.parse(stderr).error.message : stderr.replace('animal-store: ', '');
        expect([exitCode, said]).toEqual([1, expect.stringContaining(message)]);
        expect(said.slice(message.length + 1)).toMatch(remedy);
      }
    }
  });
}

test('a command whose reader closes the pipe ends quietly', async () => {
  const { exitCode, stderr } = await redirected('openapi', '| head -c 1 >/dev/null');
  expect([exitCode, stderr]).toEqual([0, '']);
});

test('output to /dev/null is not a failure', async () => {
  expect(await redirected('keys list', '>/dev/null')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});
