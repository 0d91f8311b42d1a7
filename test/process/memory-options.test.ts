import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOptions } from '../../src/cli/memory-options.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, startService } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';

const names = Object.keys(memoryOptions);

/** The runtime's memory options with which a process was started. */
function optionsOf(pid: number): Record<string, string> {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  const pairs = variables.map((variable) => variable.split('=') as [string, string]);
  return Object.fromEntries(pairs.filter(([name]) => names.includes(name)));
}

describe("the runtime's memory options are set", () => {
  test('in a service that is started without these options', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path);
    expect(optionsOf(service.pid)).toEqual(memoryOptions);
  });

  test('in each worker, without overriding values set by the operator', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { WORKERS: '2', MIMALLOC_PURGE_DELAY: '10' });
    const processes = [service.pid, ...childrenOf(service.pid)];
    const expected = { ...memoryOptions, MIMALLOC_PURGE_DELAY: '10' };
    expect(processes.map(optionsOf)).toEqual([expected, expected, expected]);
  });

  test.each(['Dockerfile', 'deploy/animal-store.service'])(
    'in %s, so that the service does not have to restart itself',
    (file) => {
      const text = readFileSync(join(root, file), 'utf8');
      for (const [name, value] of Object.entries(memoryOptions)) expect(text).toContain(`${name}=${value}`);
    },
  );
});
