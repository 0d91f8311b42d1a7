import type { operatorOperations } from '../../contract/admin/operators.ts';
import { computeFingerprint, generateKey, lastFour, type RandomBytes } from '../../domain/key.ts';
import type { Role } from '../../domain/role.ts';
import type { Operator } from '../../tables/operators.ts';
import { issueAs, type OperatorContext, writeAs } from '../changes/by-operator.ts';
import { presentOperator } from '../presenters.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { expectNumericId } from './ids.ts';

interface Services extends OperatorContext {
  readonly randomBytes: RandomBytes;
}

/**
 * Operators: the people and programs that run the service. Only the SHA-256 of their tokens is stored. After a
 * rotation, the old token and all sessions are invalid immediately. Revoking an operator is permanent.
 */
export const operatorHandlers = {
  listOperators: async ({ store }) => (await store.operators.list()).map(presentOperator),
  createOperator: async (services, { body: { name, role } }) => {
    const { operator, token } = await createOperator(services, name, role);
    return { ...presentOperator(operator), token };
  },
  rotateOperator: async (services, { params }) => {
    const { token, ...stored } = makeToken(services);
    const change = { id: idOf(params), ...stored };
    const { outcome, secret } = await issueAs(services, 'rotateOperator', change, token);
    return { ...presentOperator(outcome), token: secret };
  },
  revokeOperator: async (services, { params }) =>
    presentOperator(await revokeOperator(services, idOf(params))),
} satisfies StoreHandlersOf<Services, typeof operatorOperations>;

const idOf = ({ operatorId }: { readonly operatorId: bigint }) =>
  expectNumericId(operatorId, 'operator_not_found');

/** Returns the operator and the only cleartext copy of the token. Throws `name_taken`. */
export async function createOperator(
  services: Services,
  name: string,
  role: Role,
): Promise<{ readonly operator: Operator; readonly token: string }> {
  const { token, ...stored } = makeToken(services);
  const input = { name, role, createdAt: services.clock.now(), ...stored };
  const { outcome, secret } = await issueAs(services, 'createOperator', input, token);
  return { operator: outcome, token: secret };
}

/** Throws `operator_not_found`. */
export function revokeOperator(context: OperatorContext, id: number): Promise<Operator> {
  return writeAs(context, 'revokeOperator', { id, at: context.clock.now() });
}

function makeToken({ randomBytes }: Services) {
  const token = generateKey(randomBytes, 'token');
  return { token, fingerprint: computeFingerprint(token), lastFour: lastFour(token) };
}
