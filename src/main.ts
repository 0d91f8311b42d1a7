#!/usr/bin/env -S bun --config=/dev/null
import { run } from './cli/cli.ts';
import { ignoreUserSignals } from './cli/signals.ts';
import { endQuietlyOnClosedPipe } from './cli/terminal.ts';

ignoreUserSignals();
endQuietlyOnClosedPipe();
process.exitCode = await run(process.argv.slice(2), process.env);
