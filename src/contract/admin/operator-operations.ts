import { created, type Operation, shown } from '../operation.ts';
import { NoMembers } from '../orders.ts';
import { IssuedToken, NewOperator, Operator, OperatorId, Operators } from './operators.ts';

const params = { operatorId: { schema: OperatorId, otherwise: 'operator_not_found' } } as const;

export const operatorOperations = {
  listOperators: {
    operationId: 'listOperators',
    method: 'GET',
    path: '/operators',
    tag: 'Operators',
    summary: 'List operators',
    description: 'Returns all operators, revoked ones included.',
    stability: 'beta',
    reads: [],
    success: shown(Operators, 'All operators.'),
    errors: [],
  },
  createOperator: {
    operationId: 'createOperator',
    method: 'POST',
    path: '/operators',
    tag: 'Operators',
    summary: 'Add an operator',
    description:
      'Adds an operator. Its token is shown only in this answer. No two operators have the same name.',
    stability: 'beta',
    body: { schema: NewOperator },
    reads: [],
    success: created(
      IssuedToken,
      (issued: IssuedToken) => JSON.stringify(issued),
      ({ id }) => `/operators/${id}`,
      'The operator was added.',
    ),
    errors: ['name_taken'],
  },
  rotateOperator: {
    operationId: 'rotateOperator',
    method: 'POST',
    path: '/operators/{operatorId}/rotate',
    tag: 'Operators',
    summary: "Replace an operator's token",
    description: 'Makes a new token. The old one and all sessions of the operator end at once.',
    stability: 'beta',
    params,
    body: { schema: NoMembers, optional: true },
    reads: [],
    success: shown(IssuedToken, 'The operator with its new token.'),
    errors: ['operator_not_found', 'operator_revoked'],
  },
  revokeOperator: {
    operationId: 'revokeOperator',
    method: 'POST',
    path: '/operators/{operatorId}/revoke',
    tag: 'Operators',
    summary: 'Revoke an operator',
    description: 'Ends the token and all sessions of the operator at once, for good.',
    stability: 'beta',
    params,
    body: { schema: NoMembers, optional: true },
    reads: [],
    success: shown(Operator, 'The operator as it is now.'),
    errors: ['operator_not_found'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
