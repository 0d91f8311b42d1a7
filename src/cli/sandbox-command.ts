import type { Command } from 'commander';
import { addCommand, type Environment, jsonOption } from './command.ts';
import { port } from './values.ts';

const defaultPort = 4010;

export function addSandbox(program: Command, environment: Environment): void {
  addCommand(program, 'sandbox', {
    summary: 'Start the service on a throw-away store, with faults to test a client against.',
    examples: [
      'animal-store sandbox',
      'animal-store sandbox --port 0 --json',
      'animal-store sandbox --import animals.csv',
    ],
    notes: [
      'Prints an API key of each plan. Everything is removed when it ends. Errors, bans, broken connections and slow',
      'answers are asked for by the request header X-Sandbox or at /sandbox/faults; the clock is put ahead at',
      '/sandbox/clock. GET /sandbox lists all of it. See docs/guides/sandbox.md.',
      '',
      'It reads no settings: DATABASE_URL and all others are ignored, so that it never reaches a real store.',
      'Whoever reaches its port may do everything with it. With --json, one line with url and keys is printed when it',
      'is ready.',
    ],
    readsSettings: false,
  })
    .option('--port <port>', 'port to listen on; 0 picks a free port', port, defaultPort)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--import <file>', 'FILE.csv or FILE.ndjson with animals to start with, as import reads it')
    .option('--cors-origins <origins>', 'origins allowed to call the API from browsers, separated by commas')
    .addOption(jsonOption())
    .action(async (options) => {
      const { runSandbox } = await import('./sandbox.ts');
      await runSandbox(options, environment.npm_command === 'exec');
    });
}
