import { basePath } from '../src/contract/operations.ts';
import type { SandboxAccount } from './accounts.ts';
import { faultNames } from './fault.ts';
import { maxRequests } from './requests.ts';
import { idleMinutes } from './stores.ts';

export function renderIndex(url: string, accounts: readonly SandboxAccount[]): string {
  const keys = accounts.map(
    ({ plan, key, perMinute, account }) =>
      `  ${plan.padEnd(11)} ${key}  ${perMinute}/min, account ${account}`,
  );
  const faults = Object.values(faultNames).map(({ example, about }) => `  ${example.padEnd(26)} ${about}`);
  return `${[
    `Animal Store sandbox: the service at ${url}${basePath}, with faults on request. Its data is temporary.`,
    '',
    'Keys:',
    ...keys,
    '',
    'Faults: for one request in the header X-Sandbox, for all requests with POST /sandbox/faults. A fault consists of',
    'pairs separated by semicolons. Webhook faults can be set only with POST /sandbox/faults.',
    ...faults,
    '',
    'Control (JSON; errors have the format of the API):',
    '  GET    /sandbox/faults        the active faults and their number of occurrences',
    '  POST   /sandbox/faults        {"faults": "status=503; rate=0.2", "account": 5}; for several, a list of strings',
    '  DELETE /sandbox/faults        removes all faults; ?account=5 for one account',
    '  GET    /sandbox/clock         the current time of the sandbox',
    '  POST   /sandbox/clock         {"advanceSeconds": 60} or {"to": "2030-12-05T00:00:00Z"}; forward only',
    '  GET    /sandbox/accounts      the initial accounts with their keys',
    '  POST   /sandbox/accounts      {"plan": "free"}: a new account with a key; also perMinute and perDay (enterprise),',
    '                                expiresInSeconds, scopes',
    `  POST   /sandbox/stores        an isolated store with a separate address, accounts, faults and clock; removed`,
    `                                ${idleMinutes} minutes after its last request`,
    '  DELETE /sandbox/stores/3      removes an isolated store',
    '  GET    /sandbox/stores        the isolated stores',
    `  GET    /sandbox/requests      the latest ${maxRequests} requests; ?account=5 for one account`,
    '  DELETE /sandbox/requests      clears the list of requests',
    '  POST   /sandbox/keys/revoke   {"key": "ask_…"}: revokes a key, which also ends its streams',
    '  POST   /sandbox/refuse        {"seconds": 5}: closes all connections and refuses new ones for 5 s',
    '  POST   /sandbox/reset         restores the initial state',
    '',
    `Try it: curl -i -H 'Authorization: Bearer ${accounts[0]?.key}' -H 'X-Sandbox: status=503' ${url}${basePath}/pets`,
  ].join('\n')}\n`;
}
