import { type AdminServices, openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { printable } from '../domain/printable.ts';
import type { Role } from '../domain/role.ts';
import type { IssuedToken } from '../operations/operators.ts';
import { shownOperator } from '../operations/shown.ts';
import { CommandError, instant, say, sayJson, styled, table } from './terminal.ts';

interface Json {
  readonly json?: true;
}

export async function createOperator(config: Config, name: string, { role, json }: { role: Role } & Json) {
  await using admin = await openAdminServices(config);
  report(await admin.operators.create(name, role), json, 'Created');
}

export async function listOperators(config: Config, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const operators = await admin.operators.list();
  if (json) return sayJson(operators.map(shownOperator));
  if (operators.length === 0)
    return say('No operators. To add one: animal-store operators create NAME --role admin');
  say(
    table(
      ['ID', 'NAME', 'ROLE', 'TOKEN', 'CREATED', 'STATE'],
      operators.map(({ id, name, role, lastFour, createdAt, revokedAt }) => [
        String(id),
        name,
        role,
        `…${lastFour}`,
        instant(createdAt),
        revokedAt === null ? 'live' : 'revoked',
      ]),
    ),
  );
}

export async function rotateOperator(config: Config, operator: string, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const id = await idOf(admin, operator);
  report(await admin.operators.rotate(id), json, 'Replaced the token of');
  if (!json) say('The old token and all sessions of the operator have ended.');
}

export async function revokeOperator(config: Config, operator: string, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const revoked = await admin.operators.revoke(await idOf(admin, operator));
  if (json) return sayJson(shownOperator(revoked));
  say(`Revoked operator ${revoked.id} (${printable(revoked.name)}). The token and all sessions have ended.`);
}

/** A number is an id. Anything else is the name of an active operator, which no two have. */
async function idOf(admin: AdminServices, operator: string): Promise<number> {
  if (/^\d{1,15}$/.test(operator)) return Number(operator);
  const named = (await admin.operators.list()).find(
    ({ name, revokedAt }) => name === operator && revokedAt === null,
  );
  if (named !== undefined) return named.id;
  throw new CommandError(
    `There is no active operator named "${printable(operator)}". To list all: animal-store operators list`,
  );
}

function report({ operator, token }: IssuedToken, json: true | undefined, done: string): void {
  if (json) {
    sayJson({ ...shownOperator(operator), token });
    return;
  }
  const { id, name, role } = operator;
  say(`${done} operator ${id} (${printable(name)}), role ${role}. The token is shown only once:`);
  say(`  ${styled('bold', token)}`);
}
