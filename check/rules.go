package check

import (
	"github.com/xdsproxy/xdsproxy/check/catalogue"
	"github.com/xdsproxy/xdsproxy/decode"
)

// Rules returns all rules, in the order in which they are documented.
func Rules() []*Rule {
	rules := []*Rule{
		// Nonces
		{ID: "response-nonce-missing", Fault: ServerFault, Severity: Error, Confidence: Decided, local: true, response: responseNonceMissing},
		{ID: "response-nonce-reused", Fault: ServerFault, Severity: Warning, Confidence: Decided, local: true, response: responseNonceReused},
		{ID: "nonce-from-previous-stream", Fault: ClientFault, Severity: Error, Confidence: Decided, request: nonceFromPreviousStream},
		{ID: "nonce-unknown", Fault: ClientFault, Severity: Error, Confidence: Decided, request: nonceUnknown},
		{ID: "nonce-dropped", Fault: ClientFault, Severity: Error, Confidence: Decided, request: nonceDropped},
		{ID: "nonce-regressed", Fault: ClientFault, Severity: Warning, Confidence: Decided, request: nonceRegressed},
		{ID: "sotw-stale-request-answered", Fault: ServerFault, Severity: Info, Confidence: Guessed, Off: true, response: staleRequestAnswered},
		{ID: "delta-spontaneous-with-nonce", Fault: ClientFault, Severity: Info, Confidence: Decided, Off: true, request: deltaSpontaneousWithNonce},
		{ID: "delta-stale-subscription-dropped", Fault: ServerFault, Severity: Warning, Confidence: Timed, unanswered: staleSubscriptionDropped},

		// ACK and NACK
		{ID: "ack-missing", Fault: ClientFault, Severity: Warning, Confidence: Timed, request: stillThere, response: ackMissing},
		{ID: "cds-ack-held-by-warming", Fault: ServerFault, Severity: Warning, Confidence: Timed, request: func(x *event) { x.warm() }, response: ackHeld},
		{ID: "nack-without-error-detail", Fault: ClientFault, Severity: Warning, Confidence: Decided, request: nackWithoutErrorDetail},
		{ID: "ack-version-unknown", Fault: ClientFault, Severity: Error, Confidence: Decided, request: ackVersionUnknown},
		{ID: "nack-with-accepted-version", Fault: ClientFault, Severity: Info, Confidence: Decided, request: nackWithAcceptedVersion},
		{ID: "error-detail-empty", Fault: ClientFault, Severity: Warning, Confidence: Decided, local: true, request: errorDetailEmpty},
		{ID: "error-detail-without-nonce", Fault: ClientFault, Severity: Warning, Confidence: Decided, local: true, request: errorDetailWithoutNonce},
		{ID: "nack-received", Fault: ServerFault, Severity: Warning, Confidence: Decided, request: nackReceived},
		{ID: "nack-immediate-resend", Fault: ServerFault, Severity: Warning, Confidence: Decided, request: noteNack, response: nackImmediateResend},
		{ID: "nack-unresolved", Fault: ServerFault, Severity: Warning, Confidence: Timed, request: nackUnresolved},
		{ID: "nack-then-same-content-acked", Fault: ServerFault, Severity: Info, Confidence: Guessed, request: nackThenAcked},
		{ID: "verdict-flipped", Fault: ClientFault, Severity: Warning, Confidence: Decided, request: verdictFlipped},
		{ID: "request-flood", Fault: ClientFault, Severity: Warning, Confidence: Timed, request: requestFlood},

		// Node
		{ID: "first-request-missing-node", Fault: ClientFault, Severity: Error, Confidence: Decided, polls: true, request: firstRequestMissingNode},
		{ID: "node-identity-changed", Fault: ClientFault, Severity: Error, Confidence: Decided, request: nodeIdentityChanged},
		{ID: "duplicate-ads-stream", Fault: ClientFault, Severity: Info, Confidence: Guessed, request: duplicateStream, response: twinSpoke},

		// Types and methods
		{ID: "ads-type-url-missing", Fault: ClientFault, Severity: Error, Confidence: Decided, local: true, request: adsTypeMissing},
		{ID: "per-type-type-url-mismatch", Fault: ClientFault, Severity: Error, Confidence: Decided, local: true, request: perTypeMismatch},
		{ID: "response-type-unsubscribed", Fault: ServerFault, Severity: Error, Confidence: Decided, response: responseUnsubscribed},
		{ID: "api-version-mixed", Fault: ServerFault, Severity: Warning, Confidence: Decided, request: versionAsked, response: versionAnswered},
		{ID: "resource-type-mismatch", Fault: ServerFault, Severity: Error, Confidence: Decided, polls: true, local: true, response: resourceTypeMismatch},
		{ID: "vhds-over-sotw", Fault: ConfigFault, Severity: Error, Confidence: Decided, local: true, request: vhdsOverSotw, response: vhdsOverSotw},
		{ID: "xdstp-type-mismatch", Fault: SenderFault, Severity: Error, Confidence: Decided, local: true, request: xdstpAsked, response: xdstpSent},

		// Subscriptions
		{ID: "accidental-wildcard-on-reconnect", Fault: ClientFault, Severity: Warning, Confidence: Guessed, request: accidentalWildcard},
		{ID: "empty-first-request-on-named-type", Fault: ClientFault, Severity: Info, Confidence: Decided, Off: true, request: emptyFirstRequest},
		{ID: "cleared-list-treated-as-wildcard", Fault: ServerFault, Severity: Warning, Confidence: Timed, response: clearedListAsWildcard},
		{ID: "wildcard-unsubscribe-ignored", Fault: ServerFault, Severity: Info, Confidence: Timed, Off: true, response: wildcardUnsubscribeIgnored},
		{ID: "legacy-wildcard-lost", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: noteWidened, response: legacyWildcardLost},
		{ID: "explicit-wildcard-on-named-type", Fault: ClientFault, Severity: Info, Confidence: Decided, Off: true, request: explicitWildcardOnNamedType},
		{ID: "request-bad-names", Fault: ClientFault, Severity: Warning, Confidence: Decided, local: true, request: requestBadNames},
		{ID: "subscription-flap", Fault: ClientFault, Severity: Warning, Confidence: Timed, request: subscriptionFlap},
		{ID: "delta-phantom-unsubscribe", Fault: ClientFault, Severity: Info, Confidence: Decided, Off: true, request: deltaPhantomUnsubscribe},
		{ID: "unrequested-resource", Fault: ServerFault, Severity: Info, Confidence: Decided, response: unrequestedResource},
		{ID: "requested-resource-timeout", Fault: ServerFault, Severity: Info, Confidence: Timed, unanswered: requestedResourceTimeout},
		{ID: "new-name-answered-without-it", Fault: ServerFault, Severity: Warning, Confidence: Timed, response: noteSent, unanswered: newNameAnsweredWithoutIt},
		{ID: "resubscribe-not-resent", Fault: ServerFault, Severity: Warning, Confidence: Timed, unanswered: resubscribeNotResent},
		{ID: "delta-subscribe-unanswered", Fault: ServerFault, Severity: Warning, Confidence: Timed, unanswered: deltaSubscribeUnanswered},
		{ID: "delta-resubscribe-not-resent", Fault: ServerFault, Severity: Warning, Confidence: Timed, unanswered: deltaResubscribeNotResent},
		{ID: "delta-wildcard-unsubscribe-unanswered", Fault: ServerFault, Severity: Warning, Confidence: Timed, request: noteReleased, response: noteMentioned},
		{ID: "reconnect-type-missing", Fault: ClientFault, Severity: Warning, Confidence: Timed, request: reconnected},
		{ID: "initial-versions-late", Fault: ClientFault, Severity: Error, Confidence: Decided, request: initialVersionsLate},
		{ID: "initial-versions-not-subscribed", Fault: ClientFault, Severity: Warning, Confidence: Decided, request: initialVersionsNotSubscribed},
		{ID: "reconnect-removal-missed", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: noteResumed, response: noteResent},
		{ID: "reconnect-content-reverted", Fault: ServerFault, Severity: Info, Confidence: Guessed, response: contentReverted},
		{ID: "fallback-server-differs", Fault: ServerFault, Severity: Info, Confidence: Guessed, response: fallbackDiffers},

		// Content of responses
		{ID: "duplicate-resource", Fault: ServerFault, Severity: Error, Confidence: Decided, polls: true, local: true, response: duplicateResource},
		{ID: "delta-added-and-removed", Fault: ServerFault, Severity: Error, Confidence: Decided, local: true, response: deltaAddedAndRemoved},
		{ID: "partial-state-of-the-world", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: noteNamesAsked, response: partialState},
		{ID: "mass-removal", Fault: ServerFault, Severity: Warning, Confidence: Decided, response: massRemoval},
		{ID: "empty-noop-response", Fault: ServerFault, Severity: Info, Confidence: Decided, response: emptyNoop},
		{ID: "delta-removal-of-unknown", Fault: ServerFault, Severity: Info, Confidence: Decided, response: deltaRemovalOfUnknown},
		{ID: "resource-error-reported", Fault: ServerFault, Severity: Info, Confidence: Decided, local: true, response: resourceErrorReported},
		{ID: "delta-resource-without-version", Fault: ServerFault, Severity: Info, Confidence: Decided, local: true, response: deltaWithoutVersion},
		{ID: "resource-name-missing", Fault: ServerFault, Severity: Error, Confidence: Decided, local: true, response: resourceNameMissing},
		{ID: "resource-name-mismatch", Fault: ServerFault, Severity: Error, Confidence: Decided, local: true, response: resourceNameMismatch},
		{ID: "version-reused-for-new-content", Fault: ServerFault, Severity: Warning, Confidence: Guessed, response: versionReused},
		{ID: "version-info-empty", Fault: ServerFault, Severity: Warning, Confidence: Decided, local: true, response: versionInfoEmpty},
		{ID: "needless-push", Fault: ServerFault, Severity: Info, Confidence: Timed, request: of(decode.SotwRequest, noteAsked), response: needlessPush},
		{ID: "delta-needless-push", Fault: ServerFault, Severity: Info, Confidence: Timed, request: of(decode.DeltaRequest, noteAsked), response: deltaNeedlessPush},

		// Time to live
		{ID: "heartbeat-version-mismatch", Fault: ServerFault, Severity: Error, Confidence: Decided, response: heartbeatVersionMismatch},
		{ID: "ttl-unsupported-by-client", Fault: ServerFault, Severity: Warning, Confidence: Decided, local: true, response: ttlUnsupported},
		{ID: "ttl-expired", Fault: ServerFault, Severity: Warning, Confidence: Timed, response: ttlExpired},

		// Order and warming
		{ID: "reference-before-cluster", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: referenceAccepted, response: referenceBeforeCluster},
		{ID: "cluster-removed-while-referenced", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: removalAccepted, response: clusterRemovedWhileReferenced},
		{ID: "cluster-warming-starved", Fault: ServerFault, Severity: Warning, Confidence: Timed, request: awaitEndpoints, response: awaitEndpoints},
		{ID: "dependent-warming-starved", Fault: ServerFault, Severity: Warning, Confidence: Timed, unanswered: dependentWarmingStarved},
		{ID: "dependent-removed-in-use", Fault: ServerFault, Severity: Warning, Confidence: Guessed, response: dependentRemovedInUse},
		{ID: "eds-for-unknown-cluster", Fault: ServerFault, Severity: Info, Confidence: Guessed, Off: true, response: edsForUnknownCluster},
		{ID: "reference-never-sent", Fault: ServerFault, Severity: Warning, Confidence: Guessed, request: sinceVerdict, response: noteReferences},

		// Payloads
		{ID: "resource-undecodable", Fault: ServerFault, Severity: Error, Confidence: Decided, polls: true, local: true, response: resourceUndecodable},
		{ID: "resource-unknown-content", Fault: ServerFault, Severity: Info, Confidence: Decided, polls: true, local: true, request: rejected(unknowns), response: noted(unknowns)},
		{ID: "resource-deprecated-field", Fault: ServerFault, Severity: Info, Confidence: Decided, polls: true, local: true, request: deprecatedRejected, response: noted(deprecations)},
		{ID: "pgv-constraint", Fault: ServerFault, Severity: Info, Confidence: Decided, polls: true, local: true, request: rejected(brokenConstraints), response: constraintBroken},
		{ID: "srds-scope-key-conflict", Fault: ServerFault, Severity: Error, Confidence: Decided, response: scopeKeyConflict},
		{ID: "grpc-config-source-not-ads", Fault: ServerFault, Severity: Error, Confidence: Decided, local: true, response: grpcConfigSource},

		// Streams
		{ID: "message-over-default-limit", Fault: SenderFault, Severity: Warning, Confidence: Decided, local: true, request: messageOverLimit, response: messageOverLimit, end: endedOverLimit},
		{ID: "stream-rejected", Fault: ConfigFault, Severity: Warning, Confidence: Decided, end: streamRejected},
		{ID: "server-closed-stream", Fault: ServerFault, Severity: Info, Confidence: Timed, end: serverClosedStream},
		{ID: "reconnect-storm", Fault: ClientFault, Severity: Warning, Confidence: Timed, end: reconnectStorm},
		{ID: "half-close-with-open-subscriptions", Fault: ClientFault, Severity: Info, Confidence: Decided, request: requestAfterHalfClose, other: halfClosed},

		// REST polling
		{ID: "rest-path-type-mismatch", Fault: ClientFault, Severity: Error, Confidence: Decided, polls: true, local: true, open: restVerb, request: restBody, end: restUnread},
		{ID: "rest-unchanged-body", Fault: ServerFault, Severity: Warning, Confidence: Decided, polls: true, request: joinPolls, response: restUnchanged},
		{ID: "rest-version-flap", Fault: ServerFault, Severity: Warning, Confidence: Timed, polls: true, request: countPoll, response: restVersionFlap},
		{ID: "rest-implicit-nack", Fault: ServerFault, Severity: Warning, Confidence: Decided, polls: true, request: restStillOld, response: restOffered},

		// Files
		{ID: "file-invalid", Fault: ConfigFault, Severity: Error, Confidence: Decided, polls: true, local: true, response: fileInvalid, other: fileUnreadable},
		{ID: "file-not-moved", Fault: ConfigFault, Severity: Warning, Confidence: Decided, polls: true, response: fileNotMoved, other: noteFileEvent},

		// Load reports and client status
		{ID: "lrs-protocol", Fault: ClientFault, Severity: Warning, Confidence: Decided, other: loadReports},
		{ID: "csds-divergence", Fault: ClientFault, Severity: Info, Confidence: Guessed, other: statusDiverges},
		{ID: "accepted-not-effective", Fault: ConfigFault, Severity: Warning, Confidence: Timed, other: acceptedNotEffective},
		{ID: "effective-not-sent", Fault: ConfigFault, Severity: Info, Confidence: Guessed, other: effectiveNotSent},
	}
	texts := catalogue.Texts()
	for _, r := range rules {
		r.Text = texts[r.ID]
	}
	return rules
}

// of lets a rule look at messages of one kind only.
func of(kind decode.Kind, look func(*event)) func(*event) {
	return func(x *event) {
		if x.change.Message.Kind == kind {
			look(x)
		}
	}
}
