#!/usr/bin/env -S bun --config=/dev/null --no-env-file
import { restartWithMemoryOptions } from './cli/memory-options.ts';

const words = process.argv.slice(2);
if (words[0] === 'serve') restartWithMemoryOptions(words, process.env);

// Imported only now, so that these modules are not loaded twice if the process restarts.
const [{ addEnvFiles, run, bufferOutput }, { ignoreUserSignals }, { watchOutput }, { sandboxTool }] =
  await Promise.all([
    import('./cli/cli.ts'),
    import('./cli/signals.ts'),
    import('./cli/terminal.ts'),
    import('../sandbox/command.ts'),
  ]);
const tools = [sandboxTool];
ignoreUserSignals();
watchOutput();
const finish = bufferOutput(words, tools);
process.exitCode = await run(words, process.env, addEnvFiles(process.env), tools);
await finish();
