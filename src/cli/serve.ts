import { once } from 'node:events';
import { startApp } from '../app.ts';
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';
import type { IssuedKey } from '../operations/keys.ts';
import { openLog } from './log.ts';
import { openapiText } from './openapi.ts';
import { say, styled } from './terminal.ts';

/** Serves until SIGTERM or SIGINT, then drains and stops; a second signal stops at once. */
export async function serve(config: Config): Promise<void> {
  const log = await openLog(config.logLevel);
  const stop = new AbortController();
  const signalled = Promise.race([once(process, 'SIGTERM', stop), once(process, 'SIGINT', stop)]);
  {
    await using app = await startApp(config, openapiText(config), log);
    say(`Animal Store API   ${styled('bold', config.publicUrl ?? app.url)}${basePath}`);
    say(`Reference          ${config.publicUrl ?? app.url}/docs`);
    if (app.firstKey !== undefined) greet(app.firstKey, app.url);
    log.info({ url: app.url, database: config.databaseUrl }, 'serving');
    await signalled;
    log.info('stopping');
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
  }
  log.info('stopped');
}

function greet({ key }: IssuedKey, url: string): void {
  say();
  say('The store is new. This is its first API key (plan free); it is shown only now:');
  say(`  ${styled('bold', key)}`);
  say('Try it:');
  say(`  curl -H "Authorization: Bearer ${key}" ${url}${basePath}/pets`);
}
