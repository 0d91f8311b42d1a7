#!/usr/bin/env -S bun --config=/dev/null --no-env-file
import { restartWithMemoryOptions } from './cli/memory-options.ts';

const words = process.argv.slice(2);
if (words[0] === 'serve') restartWithMemoryOptions(words, process.env);

// Imported only now, so that these modules are not loaded twice if the process restarts.
const [{ ignoreUserSignals }, { backupTask, runBackupTask }] = await Promise.all([
  import('./cli/signals.ts'),
  import('./cli/processes.ts'),
]);
ignoreUserSignals();
if (words[0] === backupTask) await runBackupTask();
else await runCommand();

async function runCommand(): Promise<void> {
  const [{ addEnvFiles, run, bufferOutput }, { watchOutput }, { sandboxTool }] = await Promise.all([
    import('./cli/cli.ts'),
    import('./cli/terminal.ts'),
    import('../sandbox/command.ts'),
  ]);
  const tools = [sandboxTool];
  watchOutput();
  const finish = bufferOutput(words, tools);
  process.exitCode = await run(words, process.env, addEnvFiles(process.env), tools);
  await finish();
}
