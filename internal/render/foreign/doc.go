// Package foreign writes what other programs read: findings as SARIF 2.1.0 for code
// scanners and as JUnit for build servers, and a request as a command of grpcurl.
package foreign
