import * as z from 'zod';
import { bodyError, instant } from '../values.ts';
import { Role } from './operators.ts';

export const SignIn = z
  .strictObject(
    {
      token: z.string().optional().meta({ description: "An operator's token." }),
      code: z.string().optional().meta({ description: 'The one-time code of a console link.' }),
    },
    { error: bodyError('a sign-in', 'token or code') },
  )
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    message: 'must have either token or code',
  })
  .meta({ id: 'SignIn', description: 'What a session is given for.' });

export const Session = z
  .object({
    operator: z.string().meta({ description: 'Who is signed in, as the audit log names them.' }),
    role: Role,
    expiresAt: instant(
      'When the session ends at the latest, UTC; null for a token, which does not end by itself.',
    ).nullable(),
  })
  .meta({ id: 'Session', description: 'A session of the console.' });

export const NewSession = Session.extend({
  secret: z.string().meta({
    description:
      'Send it as `X-Session-Secret` with every request that the cookie authenticates. It is shown only in this response.',
  }),
}).meta({ id: 'NewSession', description: 'A session that has just begun.' });

export type SignIn = z.infer<typeof SignIn>;
export type Session = z.infer<typeof Session>;
export type NewSession = z.infer<typeof NewSession>;
