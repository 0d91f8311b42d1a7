import * as z from 'zod';
import { roles } from '../../domain/role.ts';
import { bodyError, instant, oneOf } from '../values.ts';
import { id, idParameter, nameOf } from './values.ts';

export const Role = z
  .enum(roles, { error: oneOf(roles) })
  .meta({ id: 'Role', description: 'A viewer reads. An admin changes, too.' });

export const Operator = z
  .object({
    id: id('ID of the operator.'),
    name: z.string().meta({ description: 'Name of the operator.' }),
    role: Role,
    lastFour: z.string().meta({ description: 'The last four characters of the token.' }),
    createdAt: instant('When the operator was added, UTC.'),
    revokedAt: instant('When the token was revoked, UTC; null while it is valid.').nullable(),
  })
  .meta({ id: 'Operator', description: 'A person or program that runs the service.' });

export const Operators = z.array(Operator).meta({ id: 'Operators', description: 'All operators.' });

export const NewOperator = z
  .strictObject(
    { name: nameOf('operator', 'anna'), role: Role },
    { error: bodyError('a new operator', 'name and role') },
  )
  .meta({ id: 'NewOperator', description: 'An operator to add.' });

export const IssuedToken = Operator.extend({
  token: z.string().meta({ description: 'The token. It is shown only this once.' }),
}).meta({ id: 'IssuedToken', description: 'An operator with its new token.' });

export const OperatorId = idParameter('ID of the operator.');

export type Operator = z.infer<typeof Operator>;
export type IssuedToken = z.infer<typeof IssuedToken>;
