import * as z from 'zod';
import { roles } from '../../domain/role.ts';
import { createdJson, defineOperations, okJson } from '../operation.ts';
import { bodySchema, emptyBody, enumSchema, instant, objectSchema } from '../values.ts';
import { id, idParameter, nameSchema } from './values.ts';

export const Role = enumSchema(roles).meta({
  id: 'Role',
  description: 'A viewer has read-only access. An admin can also make changes.',
});

export const Operator = objectSchema('Operator', 'A person or program that manages the service.', {
  id: id('ID of the operator.'),
  name: z.string().describe('Name of the operator.'),
  role: Role,
  lastFour: z.string().describe('The last four characters of the token.'),
  createdAt: instant('Time when the operator was added (UTC).'),
  revokedAt: instant('Time when the token was revoked (UTC); null if it has not been revoked.').nullable(),
});

const Operators = z.array(Operator).meta({ id: 'Operators', description: 'All operators.' });

const NewOperator = bodySchema('NewOperator', 'An operator to add.', 'a new operator', {
  name: nameSchema('operator', 'anna'),
  role: Role,
});

export const IssuedToken = Operator.extend({
  token: z.string().describe('The token. Shown only once.'),
}).meta({ id: 'IssuedToken', description: 'An operator with the new token.' });

const OperatorId = idParameter('ID of the operator.');

export type Operator = z.infer<typeof Operator>;
export type IssuedToken = z.infer<typeof IssuedToken>;

const params = { operatorId: { schema: OperatorId, otherwise: 'operator_not_found' } } as const;

export const operatorOperations = defineOperations(
  { tag: { name: 'Operators', description: 'Operators of the service and their tokens.' } },
  {
    listOperators: {
      route: 'GET /operators',
      summary: 'List operators',
      description: 'Returns all operators, including revoked ones.',
      success: okJson(Operators, 'All operators.'),
    },
    createOperator: {
      route: 'POST /operators',
      summary: 'Add an operator',
      description: 'Adds an operator with a unique name. The token is shown only in this response.',
      body: { schema: NewOperator },
      success: createdJson(IssuedToken, 'The operator was added.'),
      errors: ['name_taken'],
    },
    rotateOperator: {
      route: 'POST /operators/{operatorId}/rotate',
      summary: "Rotate an operator's token",
      description:
        'Creates a new token. The old token and all sessions of the operator are revoked immediately.',
      params,
      body: emptyBody,
      success: okJson(IssuedToken, 'The operator with the new token.'),
      errors: ['operator_revoked'],
    },
    revokeOperator: {
      route: 'POST /operators/{operatorId}/revoke',
      summary: 'Revoke an operator',
      description: 'Permanently revokes the token and all sessions of the operator.',
      params,
      body: emptyBody,
      success: okJson(Operator, 'The operator after the change.'),
    },
  },
);
