import { fingerprint, lastFour, makeKey, type RandomBytes } from '../domain/key.ts';
import type { Role } from '../domain/role.ts';
import type { Operator } from '../storage/admin.ts';
import { issueAs, type OperatorContext, writeAs } from './by-operator.ts';

/** A token just made: the only time its text is known. */
export interface IssuedToken {
  readonly operator: Operator;
  readonly token: string;
}

/** Operators: the people and programs that run the service. The store keeps the SHA-256 of their tokens. */
export class OperatorOperations {
  readonly #context: OperatorContext;
  readonly #randomBytes: RandomBytes;

  constructor(context: OperatorContext, randomBytes: RandomBytes) {
    this.#context = context;
    this.#randomBytes = randomBytes;
  }

  /** All, revoked ones included, by ascending id. */
  async list(): Promise<Operator[]> {
    return this.#context.store.operators.list();
  }

  /** Refuses `name_taken`. */
  async create(name: string, role: Role): Promise<IssuedToken> {
    const { token, ...stored } = this.#make();
    const input = { name, role, createdAt: this.#context.clock.now(), ...stored };
    const { outcome, secret } = await issueAs(this.#context, 'createOperator', input, token);
    return { operator: outcome, token: secret };
  }

  /** Makes a new token; the old one and all sessions end at once. Refuses `operator_not_found` and `operator_revoked`. */
  async rotate(id: number): Promise<IssuedToken> {
    const { token, ...stored } = this.#make();
    const { outcome, secret } = await issueAs(this.#context, 'rotateOperator', { id, ...stored }, token);
    return { operator: outcome, token: secret };
  }

  /** Ends the token and all sessions for good. Refuses `operator_not_found`. */
  async revoke(id: number): Promise<Operator> {
    return writeAs(this.#context, 'revokeOperator', { id, at: this.#context.clock.now() });
  }

  #make() {
    const token = makeKey(this.#randomBytes, 'token');
    return { token, fingerprint: fingerprint(token), lastFour: lastFour(token) };
  }
}
