import type { operatorOperations } from '../../contract/admin/operators.ts';
import { computeFingerprint, generateKey, lastFour, type RandomBytes } from '../../domain/key.ts';
import type { Role } from '../../domain/role.ts';
import type { Operator } from '../../tables/operators.ts';
import { issueAs, type OperatorContext, writeAs } from '../changes/by-operator.ts';
import { presentOperator } from '../presenters.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { expectNumericId } from './ids.ts';

/** A new token. This object holds the only cleartext copy of the token. */
interface IssuedToken {
  readonly operator: Operator;
  readonly token: string;
}

/** Operators: the people and programs that run the service. Only the SHA-256 of their tokens is stored. */
export class OperatorOperations {
  readonly #context: OperatorContext;
  readonly #randomBytes: RandomBytes;

  constructor(context: OperatorContext, randomBytes: RandomBytes) {
    this.#context = context;
    this.#randomBytes = randomBytes;
  }

  /** Throws `name_taken`. */
  async create(name: string, role: Role): Promise<IssuedToken> {
    const { token, ...stored } = this.#make();
    const input = { name, role, createdAt: this.#context.clock.now(), ...stored };
    const { outcome, secret } = await issueAs(this.#context, 'createOperator', input, token);
    return { operator: outcome, token: secret };
  }

  /**
   * Creates a new token. The old token and all sessions become invalid immediately. Throws `operator_not_found` and
   * `operator_revoked`.
   */
  async rotate(id: number): Promise<IssuedToken> {
    const { token, ...stored } = this.#make();
    const { outcome, secret } = await issueAs(this.#context, 'rotateOperator', { id, ...stored }, token);
    return { operator: outcome, token: secret };
  }

  /** Permanently revokes the operator, the token and all sessions. Throws `operator_not_found`. */
  async revoke(id: number): Promise<Operator> {
    return writeAs(this.#context, 'revokeOperator', { id, at: this.#context.clock.now() });
  }

  #make() {
    const token = generateKey(this.#randomBytes, 'token');
    return { token, fingerprint: computeFingerprint(token), lastFour: lastFour(token) };
  }
}

interface Services extends Pick<OperatorContext, 'store'> {
  readonly operators: OperatorOperations;
}

export const operatorHandlers = {
  listOperators: async ({ store }) => (await store.operators.list()).map(presentOperator),
  createOperator: async ({ operators }, { body: { name, role } }) =>
    presentToken(await operators.create(name, role)),
  rotateOperator: async ({ operators }, { params }) => presentToken(await operators.rotate(idOf(params))),
  revokeOperator: async ({ operators }, { params }) => presentOperator(await operators.revoke(idOf(params))),
} satisfies StoreHandlersOf<Services, typeof operatorOperations>;

const idOf = ({ operatorId }: { readonly operatorId: bigint }) =>
  expectNumericId(operatorId, 'operator_not_found');

function presentToken({ operator, token }: IssuedToken) {
  return { ...presentOperator(operator), token };
}
