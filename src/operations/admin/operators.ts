import type { IssuedToken } from '../operators.ts';
import { shownOperator } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** What the operations on operators do. */
export const operatorHandlers = {
  listOperators: async ({ operators }) => (await operators.list()).map(shownOperator),
  createOperator: async ({ operators }, { body: { name, role } }) =>
    shownIssued(await operators.create(name, role)),
  rotateOperator: async ({ operators }, { params }) =>
    shownIssued(await operators.rotate(Number(params.operatorId))),
  revokeOperator: async ({ operators }, { params }) =>
    shownOperator(await operators.revoke(Number(params.operatorId))),
} satisfies HandlersOf<
  OperatorServices,
  'listOperators' | 'createOperator' | 'rotateOperator' | 'revokeOperator'
>;

function shownIssued({ operator, token }: IssuedToken) {
  return { ...shownOperator(operator), token };
}
