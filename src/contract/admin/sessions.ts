import * as z from 'zod';
import { maxSignInBytes } from '../bounds.ts';
import { createdJson, noContent, okJson, rowsOf } from '../operation.ts';
import { bodyError, instant, shape } from '../values.ts';
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

export const Session = shape('Session', 'A session of the console.', {
  operator: z.string().meta({ description: 'Who is signed in, as the audit log names them.' }),
  role: Role,
  expiresAt: instant(
    'When the session ends at the latest, UTC; null for a token, which does not end by itself.',
  ).nullable(),
});

export const NewSession = Session.extend({
  secret: z.string().meta({
    description:
      'Send it as `X-Session-Secret` with every request that the cookie authenticates. It is shown only in this response.',
  }),
}).meta({ id: 'NewSession', description: 'A session that has just begun.' });

export type SignIn = z.infer<typeof SignIn>;
export type Session = z.infer<typeof Session>;
export type NewSession = z.infer<typeof NewSession>;

export const sessionOperations = rowsOf(
  { tag: { name: 'Sessions', description: 'Signing in and out of the console.' } },
  {
    createSession: {
      method: 'POST',
      path: '/session',
      summary: 'Sign in',
      description:
        'Trades a token, or the one-time code of a console link, for a session: a cookie, and a secret that the page sends ' +
        'as `X-Session-Secret`. Programs need no session. They send their token with each request.',
      role: 'anybody',
      repeatable: false,
      body: { schema: SignIn, maxBytes: maxSignInBytes },
      success: createdJson(NewSession, 'The session: a cookie, and a secret to send with it.'),
      errors: ['sign_in_failed', 'too_many_sign_ins'],
    },
    getSession: {
      method: 'GET',
      path: '/session',
      summary: 'Get who is signed in',
      description: 'Returns who makes this request.',
      success: okJson(Session, 'Who is signed in.'),
    },
    deleteSession: {
      method: 'DELETE',
      path: '/session',
      summary: 'Sign out',
      description: 'Ends the session of the cookie.',
      role: 'viewer',
      success: noContent('The session has ended.'),
    },
  },
);
