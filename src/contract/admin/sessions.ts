import * as z from 'zod';
import { maxSignInBytes } from '../bounds.ts';
import { createdJson, noContent, okJson, rowsOf } from '../operation.ts';
import { bodyError, instant, shape } from '../values.ts';
import { Role } from './operators.ts';
import { id, idParameter } from './values.ts';

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
  .meta({ id: 'SignIn', description: 'Credentials for a session.' });

export const Session = shape('Session', 'A session of the console.', {
  operator: z.string().meta({ description: 'The signed-in operator, as named in the audit log.' }),
  role: Role,
  expiresAt: instant('Latest end of the session, UTC; null for a token, which does not expire.').nullable(),
});

export const NewSession = Session.extend({
  secret: z.string().meta({
    description:
      'Send it as `X-Session-Secret` with every request that the cookie authenticates. It is shown only in this response.',
  }),
}).meta({ id: 'NewSession', description: 'A new session.' });

const SessionId = idParameter('ID of the session.');

export const OwnSession = shape('OwnSession', 'A session of the operator who makes the request.', {
  id: id('ID of the session.'),
  startedAt: instant('When it began, UTC.'),
  usedAt: instant('When it was last used, UTC, to the minute.'),
  expiresAt: instant('When it ends at the latest, UTC.'),
  isCurrent: z.boolean().meta({ description: 'Whether the request was made with it.' }),
});

export type OwnSession = z.infer<typeof OwnSession>;

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
        'Exchanges a token, or the one-time code of a console link, for a session: a cookie, and a secret that the page sends ' +
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
      summary: 'Get the signed-in operator',
      description: 'Returns the operator of this request.',
      success: okJson(Session, 'The signed-in operator.'),
    },
    listSessions: {
      method: 'GET',
      path: '/sessions',
      summary: 'List your own sessions',
      description:
        'Returns the sessions of the operator who makes the request that have not ended, those used last first.',
      success: okJson(
        z.array(OwnSession).meta({ id: 'OwnSessions', description: 'Sessions of one operator.' }),
        'The sessions.',
      ),
    },
    endSession: {
      method: 'DELETE',
      path: '/sessions/{sessionId}',
      summary: 'End one of your own sessions',
      description: 'Ends a session of the operator who makes the request, from its next request on.',
      role: 'viewer',
      params: { sessionId: { schema: SessionId, otherwise: 'session_not_found' } },
      success: noContent('The session has ended.'),
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
