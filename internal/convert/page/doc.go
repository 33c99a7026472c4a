// Package page writes a session as one HTML file that opens in any browser, from a
// disk and without a network: what rules found and whose fault it is, what was
// rejected against what is in use, every entry, who took part.
//
// What it shows is in the file as JSON, too, described in docs/report.md. It is
// made of the objects of internal/render: the package decides what there is room
// for, and nothing about what a message means.
//
// Text that peers chose is data and never markup: the script makes text nodes of
// it, and the policy of the file lets no other script run and nothing be fetched.
package page
